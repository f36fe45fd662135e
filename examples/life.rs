//! Conway's game of life in the terminal, or as an animation.
//!
//! ```text
//! cargo schism run --release --example life -- [GENERATIONS] [OUT.png] [--check]
//! ```

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use schism::prelude::*;
use schism_examples::animation::Animation;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// Cells in a row.
pub const WIDTH: usize = 96;
/// Rows.
pub const HEIGHT: usize = 48;

/// The cells at the begin: 1 is alive.
pub fn begin() -> Vec<u8> {
    let mut state = 2026_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::from(state >> 24 < 80)
    };
    (0..WIDTH * HEIGHT).map(|_| random()).collect()
}

/// A cell in the next generation. Left of the first column is the last one.
fn next(cells: &[u8], row: usize, column: usize) -> u8 {
    let mut around = 0;
    for y in [row + HEIGHT - 1, row, row + 1] {
        for x in [column + WIDTH - 1, column, column + 1] {
            around += cells[y % HEIGHT * WIDTH + x % WIDTH];
        }
    }
    let own = cells[row * WIDTH + column];
    u8::from(around == 3 || (around == 4 && own == 1))
}

/// The next generation, a work-item for each cell.
pub fn generation(queue: &Queue, cells: &[u8]) -> Result<Vec<u8>, schism::Error> {
    let mut after = vec![0; cells.len()];
    queue.for_each_in([HEIGHT, WIDTH], (out(&mut after), whole(cells)), |item, (own, cells)| {
        let [row, column] = item.id();
        own.set(next(cells, row, column));
    })?;
    Ok(after)
}

/// The same by a loop.
pub fn plain(cells: &[u8]) -> Vec<u8> {
    (0..cells.len()).map(|at| next(cells, at / WIDTH, at % WIDTH)).collect()
}

/// Two rows of cells in a line of text.
fn text(cells: &[u8]) -> String {
    let mut text = String::new();
    for rows in cells.chunks(2 * WIDTH) {
        let (upper, lower) = rows.split_at(WIDTH);
        text.extend(upper.iter().zip(lower).map(|two| match two {
            (0, 0) => ' ',
            (_, 0) => '▀',
            (0, _) => '▄',
            _ => '█',
        }));
        text.push('\n');
    }
    text
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 2, "life [GENERATIONS] [OUT.png] [--check]")?;
    let generations = arguments.number(0, 200)?;
    let queue = Queue::new()?;
    let mut cells = begin();
    let mut seen = vec![cells.clone()];
    let mut stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal() && arguments.word(1).is_none();
    for _ in 0..generations {
        let after = generation(&queue, &cells)?;
        if arguments.check() && after != plain(&cells) {
            compare("life", &after, &plain(&cells))?;
        }
        cells = after;
        seen.push(cells.clone());
        if is_terminal {
            write!(stdout, "\x1b[H\x1b[2J{}", text(&cells))?;
            stdout.flush()?;
            std::thread::sleep(Duration::from_millis(60));
        }
    }
    if !is_terminal {
        print!("{}", text(&cells));
    }
    println!("{generations} generations on {}", queue.device());
    if let Some(path) = arguments.word(1) {
        // A cell is a square of so many pixels.
        const SIDE: usize = 4;
        let large = |cells: &Vec<u8>| {
            let place = |at: usize| at / (WIDTH * SIDE) / SIDE * WIDTH + at % (WIDTH * SIDE) / SIDE;
            (0..WIDTH * HEIGHT * SIDE * SIDE).map(|at| cells[place(at)]).collect()
        };
        let frames = seen.iter().map(large).collect();
        let palette = vec![[250, 248, 240], [30, 60, 110]];
        Animation { width: WIDTH * SIDE, height: HEIGHT * SIDE, palette, frames }
            .write(Path::new(path), 100)?;
    }
    Ok(())
}
