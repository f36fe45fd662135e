//! Animations as PNG files (APNG), which browsers play.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::picture::Pixel;

/// Pictures of the same size, one after the other, in at most 16 colours.
#[derive(Clone, Debug)]
pub struct Animation {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The colours.
    pub palette: Vec<Pixel>,
    /// The frames: for each pixel the index of its colour.
    pub frames: Vec<Vec<u8>>,
}

impl Animation {
    /// Writes all frames, with a pause of so many milliseconds after each. It plays for ever.
    ///
    /// # Errors
    /// The file cannot be written, there is no frame, or there are more than 16 colours.
    pub fn write(&self, path: &Path, milliseconds: u16) -> Result<(), Box<dyn Error>> {
        if self.palette.len() > 16 || self.frames.is_empty() {
            return Err("an animation has 1 to 16 colours, and a frame".into());
        }
        let name = path.display();
        let file = File::create(path).map_err(|error| format!("cannot write {name}: {error}"))?;
        let (width, height) = (u32::try_from(self.width)?, u32::try_from(self.height)?);
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Four);
        encoder.set_compression(png::Compression::High);
        encoder.set_palette(self.palette.as_flattened().to_vec());
        encoder.set_animated(u32::try_from(self.frames.len())?, 0)?;
        encoder.set_frame_delay(milliseconds, 1000)?;
        let mut writer = encoder.write_header()?;
        for frame in &self.frames {
            let rows = frame.chunks(self.width);
            // Two pixels in a byte; each row begins a new one.
            let packed = rows.flat_map(|row| {
                row.chunks(2).map(|two| two[0] << 4 | two.get(1).copied().unwrap_or(0))
            });
            writer.write_image_data(&packed.collect::<Vec<_>>())?;
        }
        writer.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Animation;
    use crate::picture::Picture;

    #[test]
    fn the_first_frame_is_a_picture_and_all_are_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("animation.png");
        let palette = vec![[0, 0, 0], [255, 0, 9]];
        let frames = vec![vec![0, 1, 1, 1, 0, 0], vec![1; 6]];
        let animation = Animation { width: 3, height: 2, palette, frames };
        animation.write(&path, 50).expect("a temporary file can be written");
        let read = Picture::read(&path).expect("a PNG that was just written");
        let is_red: Vec<bool> = read.pixels.iter().map(|pixel| pixel[0] == 255).collect();
        assert_eq!(is_red, [false, true, true, true, false, false]);
        let bytes = std::fs::read(&path).expect("a file");
        let control = bytes.windows(4).position(|name| name == b"acTL").expect("an animation");
        assert_eq!(bytes[control + 4..control + 8], [0, 0, 0, 2]);
        let none = Animation { frames: Vec::new(), ..animation };
        assert!(none.write(&path, 50).is_err());
    }
}
