//! What is asked of every connection's socket.

use rustix::net::sockopt;
use std::time::Duration;
use tokio::net::TcpStream;

/// Small messages go at once, and a peer that has vanished without a word is noticed: when it
/// acknowledges nothing for this long, or, on a silent connection, answers no probe. Left to
/// itself the system would go on trying for a quarter of an hour, and ever more rarely, so that
/// a healed network would not be noticed for minutes.
pub(crate) fn prepare(tcp: &TcpStream, stalled_after: Duration) {
    // None of these can fail on a TCP socket; if one does, all still works, but slower.
    let _ = tcp.set_nodelay(true);
    let _ = sockopt::set_socket_keepalive(tcp, true);
    let probe_after = stalled_after.max(Duration::from_secs(1));
    let _ = sockopt::set_tcp_keepidle(tcp, probe_after);
    let _ = sockopt::set_tcp_keepintvl(tcp, Duration::from_secs(1));
    let _ = sockopt::set_tcp_keepcnt(tcp, 3);
    #[cfg(target_os = "linux")]
    {
        let millis = u32::try_from(stalled_after.as_millis()).unwrap_or(u32::MAX);
        let _ = sockopt::set_tcp_user_timeout(tcp, millis);
    }
}

/// The same for a connection that carries heartbeats to a member. What is lost is sent again at regular
/// intervals for the first few times, and not ever more rarely: on a link that loses every third
/// packet, heartbeats still arrive within a lease.
#[cfg(feature = "driver")]
pub(crate) fn prepare_for_member(tcp: &TcpStream, unacknowledged: Duration) {
    prepare(tcp, unacknowledged);
    #[cfg(target_os = "linux")]
    let _ = sockopt::set_tcp_thin_linear_timeouts(tcp, true);
}

#[cfg(all(test, feature = "driver", target_os = "linux"))]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_connection_to_a_member_is_given_up_when_nothing_is_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        prepare_for_member(&tcp, Duration::from_millis(2_500));
        assert_eq!(sockopt::tcp_user_timeout(&tcp).unwrap(), 2_500);
        assert!(sockopt::tcp_thin_linear_timeouts(&tcp).unwrap());
    }
}
