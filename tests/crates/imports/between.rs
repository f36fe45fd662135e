//! Imports a function, and exports another that calls it.

unsafe extern "C" {
    fn exported_scale(x: f32, by: f32) -> f32;
}

schism::import_to_device!(exported_scale);

#[unsafe(no_mangle)]
pub extern "C" fn exported_twice(x: f32) -> f32 {
    // SAFETY: defined in safe Rust, with this type.
    unsafe { exported_scale(exported_scale(x, 2.0), 3.0) }
}

schism::export_to_device!(exported_twice);
