//! Exports a function of the same name as another crate does.

#[unsafe(no_mangle)]
pub extern "C" fn exported_scale(x: f32, _: f32) -> f32 {
    x
}

schism::export_to_device!(exported_scale);
