//! PNG files as rows of pixels.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// One pixel: red, green, blue, 0 to 255.
pub type Pixel = [u8; 3];

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The rows, one after the other, from the top.
    pub pixels: Vec<Pixel>,
}

impl Picture {
    /// Reads a PNG of any colour type, depth and interlacing; transparency is put on white.
    ///
    /// # Errors
    /// The file cannot be read, or is no PNG.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let name = path.display();
        let file = File::open(path).map_err(|error| format!("cannot open {name}: {error}"))?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader =
            decoder.read_info().map_err(|error| format!("{name} is no PNG: {error}"))?;
        let size = reader.output_buffer_size().ok_or_else(|| format!("{name} is too large"))?;
        let mut bytes = vec![0; size];
        let info =
            reader.next_frame(&mut bytes).map_err(|error| format!("{name} is damaged: {error}"))?;
        let on_white = |value: u8, alpha: u8| {
            let (value, alpha) = (u32::from(value), u32::from(alpha));
            ((value * alpha + 255 * (255 - alpha)) / 255) as u8
        };
        let bytes = &bytes[..info.buffer_size()];
        let pixels = match info.color_type {
            png::ColorType::Grayscale => bytes.iter().map(|&gray| [gray; 3]).collect(),
            png::ColorType::GrayscaleAlpha => {
                bytes.chunks_exact(2).map(|pixel| [on_white(pixel[0], pixel[1]); 3]).collect()
            }
            png::ColorType::Rgba => bytes
                .chunks_exact(4)
                .map(|pixel| [0, 1, 2].map(|channel| on_white(pixel[channel], pixel[3])))
                .collect(),
            png::ColorType::Rgb | png::ColorType::Indexed => {
                bytes.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
            }
        };
        Ok(Self { width: info.width as usize, height: info.height as usize, pixels })
    }

    /// Writes a PNG.
    ///
    /// # Errors
    /// The file cannot be written, or the picture is empty or too large for the format.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let name = path.display();
        let file = File::create(path).map_err(|error| format!("cannot write {name}: {error}"))?;
        let (width, height) = (u32::try_from(self.width)?, u32::try_from(self.height)?);
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer =
            encoder.write_header().map_err(|error| format!("cannot write {name}: {error}"))?;
        writer
            .write_image_data(self.pixels.as_flattened())
            .map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("picture.png");
        let pixels = (0..35).map(|i| [i, 7 * i, 255 - i]).collect();
        let picture = Picture { width: 7, height: 5, pixels };
        picture.write(&path).expect("a temporary file can be written");
        let read = Picture::read(&path).expect("a PNG that was just written");
        assert_eq!(read, picture);
    }

    #[test]
    fn a_file_that_is_no_png_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("no.png");
        std::fs::write(&path, b"not a picture").expect("a temporary file can be written");
        let message = Picture::read(&path).expect_err("no PNG").to_string();
        assert!(message.contains("is no PNG"), "{message}");
    }
}
