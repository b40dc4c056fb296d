//! Clients that come, subscribe and are gone, beside a publisher that does not rest: nothing panics, and nothing of
//! them is left.

use std::net::{Shutdown, SocketAddr, TcpStream as StdTcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper_util::rt::TokioIo;

use portolan::core::{
    Resource, ResourceBuilder, ResourceError, SnapshotBuilder, well_known::CLUSTER,
};
use portolan_tests::{Delta, Sotw, Stream, TestControlPlane, TestError, eventually};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

const GROUP: &str = "fleet";
const CLIENTS: usize = 200;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// How long to churn. `CHURN_SECONDS` says otherwise.
fn duration() -> Duration {
    let seconds = std::env::var("CHURN_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(30))
}

fn cluster(number: u64, revision: u64) -> ResourceBuilder {
    let body = [number.to_be_bytes(), revision.to_be_bytes()].concat();
    Resource::builder(CLUSTER, format!("c{number:03}"), body)
}

fn fill(out: &mut SnapshotBuilder) -> Result<(), ResourceError> {
    for number in 0..100 {
        out.insert(cluster(number, 0))?;
    }
    Ok(())
}

/// How a client leaves.
#[derive(Clone, Copy)]
enum Exit {
    /// It ends its side of the stream and waits for nothing.
    HalfClose,
    /// It resets the stream in the middle of a response or of nothing.
    Reset,
    /// Its connection is cut under it.
    Cut,
}

impl Exit {
    const ALL: [Self; 3] = [Self::HalfClose, Self::Reset, Self::Cut];
}

/// A connection, and the socket below it.
async fn connect(address: SocketAddr) -> Result<(Channel, StdTcpStream), TestError> {
    let stream = TcpStream::connect(address).await?.into_std()?;
    let socket = stream.try_clone()?;
    let mut stream = Some(stream);
    let connector = service_fn(move |_: Uri| {
        let stream = stream.take().ok_or(std::io::ErrorKind::NotConnected);
        async move { Ok::<_, std::io::Error>(TokioIo::new(TcpStream::from_std(stream?)?)) }
    });
    let endpoint = Endpoint::try_from(format!("http://{address}"))?;
    Ok((endpoint.connect_with_connector(connector).await?, socket))
}

/// Opens a stream, takes a few responses or none, and leaves.
async fn come_and_go(
    channel: Channel,
    socket: &StdTcpStream,
    turn: usize,
) -> Result<(), TestError> {
    let (responses, exit) = (turn % 4, Exit::ALL[turn % Exit::ALL.len()]);
    if turn.is_multiple_of(2) {
        let stream = Sotw::open(channel, GROUP, &[CLUSTER]).await?;
        leave(stream, responses, exit, socket).await
    } else {
        let stream = Delta::open(channel, GROUP, &[CLUSTER]).await?;
        leave(stream, responses, exit, socket).await
    }
}

async fn leave<Q, R>(
    stream: Stream<Q, R>,
    count: usize,
    exit: Exit,
    socket: &StdTcpStream,
) -> Result<(), TestError> {
    let Stream {
        requests,
        mut responses,
    } = stream;
    for _ in 0..count {
        // One that waits for what does not come loses patience.
        match tokio::time::timeout(Duration::from_millis(50), responses.message()).await {
            Ok(message) => drop(message?),
            Err(_) => break,
        }
    }
    match exit {
        Exit::HalfClose => {
            drop(requests);
            while responses.message().await?.is_some() {}
        }
        Exit::Reset => drop((responses, requests)),
        Exit::Cut => socket.shutdown(Shutdown::Both)?,
    }
    Ok(())
}

async fn churn(address: SocketAddr, until: Instant, number: usize) -> Result<usize, TestError> {
    let mut turns = 0;
    while Instant::now() < until {
        let (channel, socket) = connect(address).await?;
        for _ in 0..=(number % 3) {
            turns += 1;
            // A connection that was cut has no further streams.
            if come_and_go(channel.clone(), &socket, number + turns)
                .await
                .is_err()
            {
                break;
            }
        }
    }
    Ok(turns)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_come_and_go_leave_nothing_behind() -> Result<(), TestError> {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        default(panic);
    }));
    let plane = TestControlPlane::start(GROUP).await?;
    plane.publish(fill)?;
    let tasks_before = Handle::current().metrics().num_alive_tasks();

    let until = Instant::now() + duration();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(churn(plane.address(), until, number));
    }
    let mut ticks = interval(Duration::from_millis(1));
    let mut revision = 0;
    while Instant::now() < until {
        ticks.tick().await;
        revision += 1;
        plane.edit(|out| out.upsert(cluster(revision % 100, revision)).map(drop))?;
    }
    let mut turns = 0;
    while let Some(client) = clients.join_next().await {
        turns += client??;
    }
    println!("{turns} streams came and went beside {revision} publications");

    eventually(
        "no streams and no tasks left",
        Duration::from_secs(15),
        || async {
            let streams = plane.streams();
            let tasks = Handle::current().metrics().num_alive_tasks();
            // The announcer runs as long as the server does.
            match streams == 0 && tasks <= tasks_before + 1 {
                true => Ok(()),
                false => Err(format!(
                    "{streams} streams, {tasks} tasks, {tasks_before} before"
                )),
            }
        },
    )
    .await?;
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    assert!(turns > CLIENTS, "{turns} streams in all that time");
    Ok(())
}
