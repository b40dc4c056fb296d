use std::fmt;
use std::time::Duration;

use turmoil::Sim;

use crate::client::{self, Handle};
use crate::dice::Dice;
use crate::link::SERVER;
use crate::server::Servers;

/// Half of the clients speak state of the world, the others delta.
pub(crate) const CLIENTS: u64 = 6;

/// Things that happen before everything becomes well.
const EVENTS: usize = 25;

/// How far the clocks go at a time.
const TICK: Duration = Duration::from_millis(20);

/// Longer than a server or a client takes to notice that its peer is gone, with what follows from it.
const RECOVERY: Duration = Duration::from_secs(65);

/// Hosts on a network, and the dice that decide what happens to them.
pub(crate) struct World {
    sim: Sim<'static>,
    dice: Dice,
    servers: Servers,
    clients: Vec<Handle>,
    /// What happened.
    pub(crate) log: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let servers = Servers::default();
        servers.publish(|model| model.change(&mut dice));
        let mut sim = turmoil::Builder::new()
            .rng_seed(seed)
            .tick_duration(TICK)
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(10 + dice.below(200)))
            .simulation_duration(Duration::from_secs(3600))
            .tcp_capacity(1 << 12)
            .enable_random_order()
            .build();
        let program = servers.clone();
        sim.host(SERVER, move || program.clone().serve());
        let clients: Vec<_> = (0..CLIENTS).map(|_| Handle::default()).collect();
        for (number, handle) in (0..).zip(&clients) {
            let handle = handle.clone();
            sim.host(host(number), move || client::run(number, handle.clone()));
        }
        Self {
            sim,
            dice,
            servers,
            clients,
            log: Vec::new(),
        }
    }

    /// Lets things happen, makes everything well, and looks at what came of it.
    pub(crate) fn play(&mut self) -> Result<(), String> {
        for _ in 0..EVENTS {
            self.happen()?;
            let pause = match self.dice.once_in(6) {
                true => self.dice.below(30_000),
                false => self.dice.below(2_000),
            };
            self.pass(Duration::from_millis(pause))?;
        }
        self.make_well();
        self.pass(RECOVERY)?;
        self.servers.publish(|model| model.change_all());
        self.pass(Duration::from_secs(10))?;
        self.check_clients()?;

        for client in &self.clients {
            client.lock().stopped = true;
        }
        self.pass(Duration::from_secs(5))?;
        self.servers.check_idle()
    }

    /// Streams that clients opened, and responses that they rejected.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let clients = self.clients.iter().map(Handle::lock);
        clients.fold((0, 0), |(streams, rejections), client| {
            (streams + client.streams, rejections + client.rejections)
        })
    }

    fn pass(&mut self, time: Duration) -> Result<(), String> {
        let end = self.sim.elapsed() + time;
        while self.sim.elapsed() < end {
            let step = self.sim.step();
            step.map_err(|error| format!("a host failed: {error}"))?;
        }
        Ok(())
    }

    fn note(&mut self, what: impl fmt::Display) {
        let line = format!("{:?} {what}", self.sim.elapsed());
        self.log.push(line);
    }

    fn happen(&mut self) -> Result<(), String> {
        let number = self.dice.below(CLIENTS);
        let name = host(number);
        match self.dice.below(16) {
            0 => {
                self.note(format_args!("hold {name}"));
                self.sim.hold(SERVER, name);
            }
            1 => {
                self.note(format_args!("partition {name}"));
                self.sim.partition(SERVER, name);
            }
            2 => {
                self.note(format_args!("partition towards {name}"));
                self.sim.partition_oneway(SERVER, name);
            }
            3 => {
                self.note(format_args!("latency of {name}"));
                let latency = Duration::from_millis(1 + self.dice.below(1_500));
                self.sim.set_link_latency(SERVER, name, latency);
            }
            4 | 5 => self.repair(number),
            6 => {
                self.note(format_args!("{name} crashes"));
                self.sim.bounce(name);
            }
            7 => self.restart()?,
            8 | 9 => {
                let slow = Duration::from_millis(self.dice.below(4) * 3_000);
                self.note(format_args!("{name} reads after {slow:?}"));
                self.clients[number as usize].lock().reads_after = slow;
            }
            10 => {
                let rejects = self.dice.once_in(2);
                self.note(format_args!("{name} rejects: {rejects}"));
                self.clients[number as usize].lock().rejects = rejects;
            }
            _ => {
                self.note("publish");
                let Self { servers, dice, .. } = self;
                servers.publish(|model| model.change(dice));
            }
        }
        Ok(())
    }

    /// Makes the link to a client whole: what was held arrives, what was lost stays so.
    fn repair(&mut self, number: u64) {
        let name = host(number);
        self.note(format_args!("repair {name}"));
        self.sim.release(SERVER, name.as_str());
        self.sim.repair(SERVER, name);
    }

    /// Starts the server anew, in order or not. Meanwhile things are published.
    fn restart(&mut self) -> Result<(), String> {
        let in_order = self.dice.once_in(2);
        self.note(format_args!("the server restarts, in order: {in_order}"));
        if in_order {
            self.servers.drain();
            self.pass(Duration::from_secs(1))?;
        }
        self.sim.crash(SERVER);
        let Self { servers, dice, .. } = self;
        servers.publish(|model| model.change(dice));
        let pause = self.dice.below(10_000);
        self.pass(Duration::from_millis(pause))?;
        self.sim.bounce(SERVER);
        Ok(())
    }

    fn make_well(&mut self) {
        self.note("all is well");
        for number in 0..CLIENTS {
            self.repair(number);
            let latency = Duration::from_millis(5);
            self.sim.set_link_latency(SERVER, host(number), latency);
            let mut client = self.clients[number as usize].lock();
            client.reads_after = Duration::ZERO;
            client.rejects = false;
        }
    }

    fn check_clients(&self) -> Result<(), String> {
        let published = self.servers.model();
        for (number, client) in self.clients.iter().enumerate() {
            let client = client.lock();
            if let Some(complaint) = client.complaints.first() {
                return Err(format!("{}: {complaint}", host(number as u64)));
            }
            if client.held != published {
                let held = &client.held;
                let name = host(number as u64);
                return Err(format!("{name} has {held:?}, published is {published:?}"));
            }
        }
        match self.servers.streams() {
            CLIENT_STREAMS => Ok(()),
            streams => Err(format!("{streams} streams of {CLIENTS} clients")),
        }
    }
}

const CLIENT_STREAMS: usize = CLIENTS as usize;

fn host(number: u64) -> String {
    format!("client-{number}")
}
