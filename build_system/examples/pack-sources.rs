//! Writes `sources.pack`, which the published package has in the place of the workspace: see
//! `.ci/package`.

use std::path::Path;

// The program has this as a module too; each uses a part of it.
#[allow(dead_code)]
#[path = "../src/pack.rs"]
mod pack;

fn main() -> std::io::Result<()> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.parent().expect("this package lies in the workspace");
    std::fs::write(own.join(pack::FILE), pack::pack(root, &pack::files(root)?)?)
}
