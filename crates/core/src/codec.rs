//! How the values of a process travel between operating-system processes or wait in a file.

use crate::{AnyDurable, AnyInput, AnyMsg, AnyProcess, AnyTimer, Erasable, Process};
use std::fmt;
use std::sync::Arc;

/// Turns values of one type into bytes and back.
pub struct Coder<T>(Kind<T>);

enum Kind<T> {
    /// What most types have: no object of its own for each of them.
    Functions(fn(&T) -> Vec<u8>, fn(&[u8]) -> Result<T, String>),
    Shared(Arc<dyn Code<T> + Send + Sync>),
}

trait Code<T> {
    fn encode(&self, value: &T) -> Vec<u8>;
    fn decode(&self, bytes: &[u8]) -> Result<T, String>;
}

/// Two functions.
struct Pair<E, D>(E, D);

impl<T, E: Fn(&T) -> Vec<u8>, D: Fn(&[u8]) -> Result<T, String>> Code<T> for Pair<E, D> {
    fn encode(&self, value: &T) -> Vec<u8> {
        (self.0)(value)
    }

    fn decode(&self, bytes: &[u8]) -> Result<T, String> {
        (self.1)(bytes)
    }
}

/// The coder of a value that is wrapped in another type.
struct Wrapped<T, W> {
    coder: Coder<T>,
    wrap: fn(T) -> W,
    inner: for<'a> fn(&'a W) -> Option<&'a T>,
}

impl<T, W> Code<W> for Wrapped<T, W> {
    fn encode(&self, value: &W) -> Vec<u8> {
        // A value of another type has no bytes here; decoding refuses them.
        (self.inner)(value).map_or_else(Vec::new, |value| self.coder.encode(value))
    }

    fn decode(&self, bytes: &[u8]) -> Result<W, String> {
        self.coder.decode(bytes).map(self.wrap)
    }
}

impl<T> Coder<T> {
    /// A coder of these two functions. Decoding says what is wrong with bytes that mean nothing,
    /// and must not panic: they come from outside.
    pub fn new(
        encode: impl Fn(&T) -> Vec<u8> + Send + Sync + 'static,
        decode: impl Fn(&[u8]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        Coder(Kind::Shared(Arc::new(Pair(encode, decode))))
    }

    /// Two functions as a coder.
    pub fn of(encode: fn(&T) -> Vec<u8>, decode: fn(&[u8]) -> Result<T, String>) -> Self {
        Coder(Kind::Functions(encode, decode))
    }

    /// The bytes of a value.
    pub fn encode(&self, value: &T) -> Vec<u8> {
        match &self.0 {
            Kind::Functions(encode, _) => encode(value),
            Kind::Shared(code) => code.encode(value),
        }
    }

    /// The value of these bytes, or what is wrong with them.
    pub fn decode(&self, bytes: &[u8]) -> Result<T, String> {
        match &self.0 {
            Kind::Functions(_, decode) => decode(bytes),
            Kind::Shared(code) => code.decode(bytes),
        }
    }

    /// The same for a value that is wrapped in another type.
    fn wrap<W: 'static>(
        self,
        wrap: fn(T) -> W,
        inner: for<'a> fn(&'a W) -> Option<&'a T>,
    ) -> Coder<W>
    where
        T: 'static,
    {
        Coder(Kind::Shared(Arc::new(Wrapped { coder: self, wrap, inner })))
    }
}

impl<T> Clone for Coder<T> {
    fn clone(&self) -> Self {
        Coder(match &self.0 {
            Kind::Functions(encode, decode) => Kind::Functions(*encode, *decode),
            Kind::Shared(code) => Kind::Shared(code.clone()),
        })
    }
}

impl<T> fmt::Debug for Coder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Coder")
    }
}

/// The coders of all that a real run of a process writes down.
#[derive(Clone, Debug)]
pub struct Codec<P: Process> {
    /// Of its messages.
    pub msg: Coder<P::Msg>,
    /// Of its timers, for journals.
    pub timer: Coder<P::Timer>,
    /// Of its inputs, for journals.
    pub input: Coder<P::Input>,
    /// Of its durable state.
    pub durable: Coder<P::Durable>,
}

impl<P: Erasable> Codec<P> {
    /// The codec of the same process, erased.
    pub fn erase(self) -> Codec<AnyProcess> {
        Codec {
            msg: self.msg.wrap(AnyMsg::new, AnyMsg::downcast_ref),
            timer: self.timer.wrap(AnyTimer::new, AnyTimer::downcast_ref),
            input: self.input.wrap(AnyInput::new, AnyInput::downcast_ref),
            durable: self.durable.wrap(AnyDurable::new, AnyDurable::downcast_ref),
        }
    }
}
