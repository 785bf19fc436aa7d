//! Serves the explorer's page and API, for those who work on the page:
//! `cargo run -p bellwether-lab --example serve -- --port 7491`.

#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::error::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let port: u16 = match (args.next().as_deref(), args.next()) {
        (Some("--port"), Some(port)) => port.parse()?,
        _ => 7490,
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/explore", listener.local_addr()?);
    bellwether_lab::explorer::serve(listener, None).await?;
    Ok(())
}
