//! `bellwether explore`: the explorer's page, on this machine.

use crate::explorer::Opened;
use crate::program::runtime;
use bellwether_shell::{Failure, Verdict, complain, print};
use clap::Args;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;

/// A file larger than this is not for the page. A trace of 50,000 events has some 20 MB.
const FILE_MAX: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct ExploreArgs {
    /// Where to serve the page; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7490")]
    listen: SocketAddr,
    /// Begin with this file: a scenario, or a trace that was saved with --trace json
    #[arg(long, value_name = "FILE")]
    open: Option<PathBuf>,
}

pub(crate) fn run(args: &ExploreArgs) -> Result<Verdict, Failure> {
    let opened = args.open.as_deref().map(read).transpose()?;
    runtime()?.block_on(serve(args, opened))
}

async fn serve(args: &ExploreArgs, opened: Option<Opened>) -> Result<Verdict, Failure> {
    let listen = args.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| unbound(listen, &error))?;
    let address = listener.local_addr().unwrap_or(listen);
    if !address.ip().is_loopback() {
        complain(&format!(
            "warning: every program that reaches {address} can make this machine simulate; there is no password"
        ));
    }
    let room = if opened.is_some() { "#open=given" } else { "" };
    print(&format!("explorer  http://{address}/explore{room}\nCtrl-C ends it\n"))?;
    tokio::select! {
        () = crate::explorer::serve(listener, opened) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Verdict::Well)
}

/// Why the address cannot be used, and what to do.
fn unbound(listen: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => "; is another explorer running? Choose another port, or 0 for any",
        ErrorKind::PermissionDenied => "; choose a port above 1023, or 0 for any",
        ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        _ => "",
    };
    Failure::flag("listen", format!("cannot listen on {listen}: {error}{hint}"))
}

fn read(path: &Path) -> Result<Opened, Failure> {
    let unread = |error| Failure::Read(path.to_owned(), error);
    let size = std::fs::metadata(path).map_err(unread)?.len();
    if size > FILE_MAX {
        let message = format!(
            "{} has {} MB, and a page shows at most {} MB; record a shorter run",
            path.display(),
            size >> 20,
            FILE_MAX >> 20
        );
        return Err(Failure::flag("open", message));
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    let no_text = |_| {
        let what = "is no text; give a scenario, or a trace that was saved with --trace json";
        Failure::flag("open", format!("{} {what}", path.display()))
    };
    let text = String::from_utf8(bytes).map_err(no_text)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Opened { name, text })
}
