//! Opens the shared libraries given to it, in turns and two at a time, runs and closes them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}

const RTLD_NOW: c_int = 2;

fn message() -> String {
    // SAFETY: called after a failure: a text of the C library.
    unsafe { CStr::from_ptr(dlerror()) }.to_string_lossy().into_owned()
}

struct Library(*mut c_void);

// SAFETY: a handle of the C library, which any thread may use.
unsafe impl Sync for Library {}

impl Library {
    fn open(path: &str) -> Self {
        let name = CString::new(path).unwrap();
        // SAFETY: a path of a library whose initialisers may run here.
        let library = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        assert!(!library.is_null(), "{path}: {}", message());
        Self(library)
    }

    fn run(&self, n: usize) {
        // SAFETY: the library is open; its `run` has this type.
        let code = unsafe {
            let run = dlsym(self.0, c"run".as_ptr());
            assert!(!run.is_null(), "{}", message());
            std::mem::transmute::<*mut c_void, extern "C" fn(usize) -> c_int>(run)(n)
        };
        assert_eq!(code, 0);
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, closed once; nothing of it is used later.
        assert_eq!(unsafe { dlclose(self.0) }, 0);
    }
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for _ in 0..4 {
        for path in &paths {
            let library = Library::open(path);
            library.run(100);
            library.run(1000);
        }
        let both: Vec<Library> = paths.iter().map(|path| Library::open(path)).collect();
        for library in &both {
            library.run(33);
        }
        // Again while it is open: the same library.
        drop(Library::open(&paths[0]));
        both[0].run(50);
    }
    // On a thread that ends before the library is closed, and after.
    let library = Library::open(&paths[0]);
    std::thread::scope(|scope| {
        scope.spawn(|| library.run(10));
    });
    drop(library);
    std::thread::sleep(std::time::Duration::from_millis(50));
    println!("closed");
}
