//! Random interleavings against a model that knows nothing of lines, walks and slices.

use std::collections::BTreeMap;

use portolan_core::Published;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const GROUPS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Op {
    Open(usize),
    Close(usize),
    Load(usize),
    Set(usize, u8),
    Clear(usize),
    Announce(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let group = 0..GROUPS.len();
    let op = prop_oneof![
        3 => group.clone().prop_map(Op::Open),
        2 => any::<usize>().prop_map(Op::Close),
        6 => any::<usize>().prop_map(Op::Load),
        4 => (group.clone(), 0..3u8).prop_map(|(group, body)| Op::Set(group, body)),
        1 => group.prop_map(Op::Clear),
        4 => (0..4usize).prop_map(Op::Announce),
    ];
    vec(op, 0..120)
}

#[derive(Default)]
struct GroupModel {
    content: Option<u8>,
    newest: u64,
}

struct ViewModel {
    stream: Stream,
    group: usize,
    /// The newest publication when it last loaded or was opened.
    seen: u64,
    /// Its count of wakes at that time.
    wakes: usize,
}

struct Model {
    writer: Writer,
    reader: Reader,
    announcer: Arc<Wakes>,
    groups: BTreeMap<usize, GroupModel>,
    views: Vec<ViewModel>,
}

impl Model {
    fn new() -> Self {
        let (writer, reader) = cache();
        Self {
            writer,
            reader,
            announcer: Arc::default(),
            groups: (0..GROUPS.len())
                .map(|g| (g, GroupModel::default()))
                .collect(),
            views: Vec::new(),
        }
    }

    fn group(&mut self, group: usize) -> &mut GroupModel {
        self.groups.get_mut(&group).unwrap()
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Open(group) => {
                let stream = Stream::open(&self.reader, GROUPS[group]);
                let seen = self.group(group).newest;
                self.views.push(ViewModel {
                    stream,
                    group,
                    seen,
                    wakes: 0,
                });
            }
            Op::Close(at) if !self.views.is_empty() => {
                let at = at % self.views.len();
                self.views.swap_remove(at);
            }
            Op::Load(at) if !self.views.is_empty() => {
                let at = at % self.views.len();
                self.load(at);
            }
            Op::Close(_) | Op::Load(_) => {}
            Op::Set(group, content) => self.set(group, content),
            Op::Clear(group) => {
                self.writer.clear(&key(GROUPS[group]));
                self.group(group).content = None;
            }
            Op::Announce(budget) => {
                let before = self.total_wakes();
                let _ = self.reader.announce(budget);
                assert!(self.total_wakes() - before <= budget);
            }
        }
    }

    fn load(&mut self, at: usize) {
        let view = &mut self.views[at];
        let group = &self.groups[&view.group];
        let loaded = view.stream.view.load();
        view.seen = group.newest;
        view.wakes = view.stream.wakes();
        let content = group.content.map(|content| content.to_string());
        assert_eq!(loaded.as_ref().map(|p| body(p.snapshot())), content);
        let number = group.content.map(|_| group.newest);
        assert_eq!(loaded.map(|p| p.generation().get()), number);
    }

    fn set(&mut self, group: usize, content: u8) {
        let roused = self.announcer.count();
        let in_line = self.reader.announce(0) == Announced::More;
        self.reader
            .register_announcer(Waker::from(Arc::clone(&self.announcer)));
        let published = self
            .writer
            .set(&key(GROUPS[group]), snapshot(&content.to_string()));
        let number = published.generation().get();
        let model = self.group(group);
        let changed = model.content != Some(content);
        assert_eq!(matches!(published, Published::Changed(_)), changed);
        if changed {
            assert!(number > model.newest);
        } else {
            assert_eq!(number, model.newest);
        }
        (model.content, model.newest) = (Some(content), number);
        if !in_line && self.views.iter().any(|view| self.must_be_woken(view)) {
            assert!(
                self.announcer.count() > roused,
                "the announcer was not woken"
            );
        }
    }

    fn must_be_woken(&self, view: &ViewModel) -> bool {
        let group = &self.groups[&view.group];
        let behind = group.content.is_some() && view.seen < group.newest;
        behind && view.stream.wakes() == view.wakes
    }

    fn total_wakes(&self) -> usize {
        self.views.iter().map(|view| view.stream.wakes()).sum()
    }

    /// What must hold at any time.
    fn check(&self) {
        for view in &self.views {
            let woken = view.stream.wakes() - view.wakes;
            assert!(woken <= 1, "woken {woken} times since it loaded");
            let newest = self.groups[&view.group].newest;
            assert!(woken == 0 || view.seen < newest, "woken for nothing");
        }
        let in_use = |(at, _): &(usize, &&str)| {
            self.groups[at].content.is_some() || self.views.iter().any(|view| view.group == *at)
        };
        let expected: Vec<_> = GROUPS
            .iter()
            .enumerate()
            .filter(in_use)
            .map(|(_, g)| *g)
            .collect();
        assert_eq!(self.writer.groups(), expected);
        assert_eq!(self.writer.total_groups(), expected.len());
        assert_eq!(self.writer.total_streams(), self.views.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_interleaving_loses_a_wake_up(ops in ops()) {
        let mut model = Model::new();
        for op in &ops {
            model.apply(op);
            model.check();
        }
        drain(&model.reader);
        model.check();
        for view in &model.views {
            prop_assert!(!model.must_be_woken(view), "a stream of {} sleeps", GROUPS[view.group]);
        }
    }
}
