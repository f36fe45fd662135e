//! The program as a user meets it, on machines whose compiler and cargo are scripts.

mod machine;
mod setup;
mod verbs;
