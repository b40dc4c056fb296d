use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// Keeps every series in memory, by its name and labels as Prometheus writes them.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryRecorder(Arc<Mutex<Series>>);

#[derive(Debug, Default)]
struct Series {
    described: BTreeMap<String, String>,
    counters: BTreeMap<String, Arc<AtomicU64>>,
    gauges: BTreeMap<String, Arc<AtomicU64>>,
    histograms: BTreeMap<String, Arc<Samples>>,
}

#[derive(Debug, Default)]
struct Samples(Mutex<Vec<f64>>);

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

impl MemoryRecorder {
    pub(super) fn counter(&self, series: &str) -> u64 {
        self.0.lock().unwrap().counters[series].load(Ordering::Relaxed)
    }

    pub(super) fn gauge(&self, series: &str) -> f64 {
        f64::from_bits(self.0.lock().unwrap().gauges[series].load(Ordering::Relaxed))
    }

    pub(super) fn samples(&self, series: &str) -> Vec<f64> {
        self.0.lock().unwrap().histograms[series]
            .0
            .lock()
            .unwrap()
            .clone()
    }

    /// The series of a metric.
    pub(super) fn series(&self, metric: &str) -> Vec<String> {
        let all = self.all();
        let of_metric = |series: &String| series.split('{').next() == Some(metric);
        all.into_iter().filter(of_metric).collect()
    }

    /// Every series.
    pub(super) fn all(&self) -> Vec<String> {
        let series = self.0.lock().unwrap();
        let (counters, gauges) = (series.counters.keys(), series.gauges.keys());
        let all = counters.chain(gauges).chain(series.histograms.keys());
        all.cloned().collect()
    }

    /// The metrics that were described, and as what.
    pub(super) fn described(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap().described.clone()
    }

    fn describe(&self, kind: &str, name: &KeyName, unit: Option<Unit>, about: &SharedString) {
        let unit = unit.map_or("", |unit| unit.as_str());
        let text = format!("{kind} {unit}: {about}");
        let mut series = self.0.lock().unwrap();
        series.described.insert(name.as_str().to_owned(), text);
    }
}

fn rendered(key: &Key) -> String {
    let labels = key
        .labels()
        .map(|label| format!("{}={}", label.key(), label.value()));
    format!("{}{{{}}}", key.name(), labels.collect::<Vec<_>>().join(","))
}

impl Recorder for MemoryRecorder {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.describe("counter", &name, unit, &about);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.describe("gauge", &name, unit, &about);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, about: SharedString) {
        self.describe("histogram", &name, unit, &about);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut series = self.0.lock().unwrap();
        Counter::from_arc(Arc::clone(
            series.counters.entry(rendered(key)).or_default(),
        ))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let mut series = self.0.lock().unwrap();
        Gauge::from_arc(Arc::clone(series.gauges.entry(rendered(key)).or_default()))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let mut series = self.0.lock().unwrap();
        Histogram::from_arc(Arc::clone(
            series.histograms.entry(rendered(key)).or_default(),
        ))
    }
}
