//! A name server that takes its time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use portolan_tests::TestError;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const HEADER: usize = 12;
const TYPE_A: [u8; 2] = [0, 1];

/// Says of every name, after a while, that it is the loopback address. Stops when dropped.
#[derive(Debug)]
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl NameServer {
    pub(crate) async fn start(late: Duration) -> Result<Self, TestError> {
        let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?);
        let address = socket.local_addr()?;
        let task = tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
                let Some(answer) = answer(&buffer[..length]) else {
                    continue;
                };
                let socket = Arc::clone(&socket);
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    let _ = socket.send_to(&answer, client).await;
                });
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The answer to a query with one question (RFC 1035, section 4); `None` if it is no query.
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let name = query.get(HEADER..)?.iter().position(|byte| *byte == 0)? + 1;
    let question = query.get(HEADER..HEADER + name + 4)?;
    let is_address = question.get(name..name + 2)? == TYPE_A;
    // An authoritative response.
    let mut answer = [query.get(..2)?, &[0x84, 0]].concat();
    answer.extend([0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
    answer.extend(question);
    if is_address {
        // The name of the question, class IN, 60 s to live.
        answer.extend([0xC0, HEADER as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(kind: u8) -> Vec<u8> {
        let header = [7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        [&header[..], b"\x01a\x07example\x00", &[0, kind, 0, 1]].concat()
    }

    #[test]
    fn names_are_the_loopback_address_and_have_no_other() {
        let address = answer(&query(1)).unwrap();
        assert_eq!((&address[..2], address[7]), (&[7, 8][..], 1));
        assert!(address.ends_with(&[127, 0, 0, 1]));
        let other = answer(&query(28)).unwrap();
        assert_eq!((other.len(), other[7]), (query(28).len(), 0));
    }

    #[test]
    fn what_is_no_query_is_not_answered() {
        for length in 0..query(1).len() {
            assert_eq!(answer(&query(1)[..length]), None);
        }
    }
}
