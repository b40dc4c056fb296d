//! Constant traffic, of which every request is written down.

mod client;
mod record;

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval_at, sleep};

use self::client::Client;
pub(crate) use self::record::{Answer, Kind, Record};

/// How long a slow request takes, wherever it is slow.
const SLOW: Duration = Duration::from_millis(300);

/// How long the body of a long request takes.
const LONG: Duration = Duration::from_secs(1);

/// For how long a client that follows answers closely rests after a failure, so that it does not flood the count.
const REST: Duration = Duration::from_millis(50);

/// What is asked, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// Requests in a second over connections that are kept.
    pub(crate) rate: u32,
    /// Requests in a second with a connection each.
    pub(crate) new_rate: u32,
    /// Whether there are slow, held and retried requests too.
    pub(crate) slow: bool,
}

impl Mix {
    pub(crate) fn of(rate: u32) -> Self {
        Self {
            rate,
            new_rate: rate.div_ceil(10),
            slow: true,
        }
    }

    /// How many clients of a kind there are, and after what time each starts its next request; without, it does as soon
    /// as the one before is answered.
    fn clients(self) -> Vec<(Kind, u32, Option<Duration>)> {
        let paced = |kind, count: u32, rate: u32| {
            let period = Duration::from_secs_f64(f64::from(count) / f64::from(rate.max(1)));
            (kind, count, Some(period))
        };
        let mut clients = vec![
            paced(Kind::Kept, 48, self.rate),
            paced(Kind::New, 4, self.new_rate),
        ];
        if self.slow {
            clients.extend([
                (Kind::LateHead, 4, None),
                (Kind::LateBody, 4, None),
                (Kind::LongBody, 2, None),
                (Kind::Held, 4, None),
                // Envoy retries three at a time.
                (Kind::Retried, 3, None),
            ]);
        }
        clients
    }
}

/// Traffic to one listener.
#[derive(Debug)]
pub(crate) struct Load {
    mix: Mix,
    started: Instant,
    stop: watch::Sender<bool>,
    clients: JoinSet<Vec<Record>>,
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) records: Vec<Record>,
    /// How many paced requests there should have been.
    pub(crate) due: f64,
    /// From when to when.
    pub(crate) during: Range<Instant>,
}

impl Load {
    /// Starts asking for these paths in turn.
    pub(crate) fn start(server: SocketAddr, paths: &[&str], mix: Mix) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        for (kind, count, period) in mix.clients() {
            for nth in 0..count {
                let asks = paths.iter().map(|path| kind.ask(path)).collect();
                let client = Client::new(server, kind, asks);
                let first = period.unwrap_or(SLOW) * nth / count;
                clients.spawn(run(client, kind, first, period, stopped.clone()));
            }
        }
        Self {
            mix,
            started: Instant::now(),
            stop,
            clients,
        }
    }

    /// Starts no more requests, and waits for the answers to those that are in flight.
    pub(crate) async fn stop(mut self) -> Outcome {
        let stopped = Instant::now();
        let seconds = (stopped - self.started).as_secs_f64();
        let rate = f64::from(self.mix.rate) + f64::from(self.mix.new_rate);
        self.stop.send_replace(true);
        let mut records = Vec::new();
        while let Some(client) = self.clients.join_next().await {
            records.extend(client.expect("a client does not panic"));
        }
        Outcome {
            records,
            due: rate * seconds,
            during: self.started..stopped,
        }
    }
}

async fn run(
    mut client: Client,
    kind: Kind,
    first: Duration,
    period: Option<Duration>,
    mut stopped: watch::Receiver<bool>,
) -> Vec<Record> {
    let mut records = Vec::new();
    let start = tokio::time::Instant::now() + first;
    let mut ticks = interval_at(start, period.unwrap_or(SLOW));
    // A client that is late leaves out what it should have asked meanwhile, and that it did so is seen in the count.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks.tick().await;
    loop {
        if *stopped.borrow() {
            return records;
        }
        let started = Instant::now();
        let answer = client.ask().await;
        let failed = answer.is_failure();
        records.push(Record {
            kind,
            started,
            ended: Instant::now(),
            answer,
        });
        let next = async {
            match period {
                Some(_) => drop(ticks.tick().await),
                None if failed => sleep(REST).await,
                None => {}
            }
        };
        tokio::select! {
            () = next => {}
            _ = stopped.changed() => return records,
        }
    }
}
