//! The containers of the program's shared objects.

use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use schism_hcf::{HcfError, RecordRef};

use crate::kernel::abi::Descriptor;
use crate::util::fork::NoForkGuard;

/// One container, by its address.
#[derive(Debug)]
pub(crate) struct Container {
    begin: usize,
    end: usize,
    /// The program's table for kernels that run in its process, or 0.
    host: usize,
    /// Read when the first kernel is launched.
    record: OnceLock<Result<RecordRef<'static>, HcfError>>,
}

impl Container {
    /// The parsed container.
    ///
    /// # Safety
    /// The container's shared object is loaded, and stays so as long as the result is used.
    pub(crate) unsafe fn record(&self) -> Result<&RecordRef<'static>, HcfError> {
        let read = || {
            let (begin, len) = (self.begin as *const u8, self.end.saturating_sub(self.begin));
            // A linker or a strip tool may have removed it: addresses of an empty section, or null.
            let bytes: &'static [u8] = if begin.is_null() || len > isize::MAX as usize {
                &[]
            } else {
                // SAFETY: stage 1 put a constant there; the caller keeps its object loaded.
                unsafe { slice::from_raw_parts(begin, len) }
            };
            RecordRef::parse(bytes).inspect(|record| {
                tracing::debug!(
                    object = %record.object_id(), krate = record.crate_name(), bytes = bytes.len(),
                    kernels = record.kernels().len(), "found image"
                );
            })
        };
        self.record.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The program's table of symbols for the image of this container that runs in its process, or
    /// null.
    pub(crate) const fn host_table(&self) -> *const *const () {
        self.host as *const *const ()
    }

    /// The id of its content, if it was read.
    pub(crate) fn known_id(&self) -> Option<schism_hcf::ObjectId> {
        self.record.get()?.as_ref().ok().map(RecordRef::object_id)
    }
}

static CONTAINERS: Mutex<Vec<Arc<Container>>> = Mutex::new(Vec::new());

fn containers() -> MutexGuard<'static, Vec<Arc<Container>>> {
    CONTAINERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this program was compiled with device code.
pub(crate) fn has_device_code() -> bool {
    !containers().is_empty()
}

/// Whether any registered container satisfies `predicate`. Damaged ones are skipped: launching one
/// of their kernels returns an error.
pub(crate) fn any_record(predicate: impl Fn(&RecordRef<'_>) -> bool) -> bool {
    // A shared object unregisters its container before it is unloaded, which waits for the lock.
    let containers = containers();
    // SAFETY: so registered objects stay loaded as long as the lock is held.
    containers.iter().any(|container| unsafe { container.record() }.is_ok_and(&predicate))
}

/// The ids of all containers that can be read, in their order.
pub(crate) fn ids() -> Vec<schism_hcf::ObjectId> {
    let containers = containers();
    // SAFETY: registered objects stay loaded as long as the lock is held.
    let id = |container: &Arc<Container>| Some(unsafe { container.record() }.ok()?.object_id());
    let mut ids: Vec<_> = containers.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids
}

/// An image that defines a function for other images.
#[derive(Debug)]
pub(crate) struct Exporter {
    /// The crate that it was made of.
    pub(crate) krate: String,
    /// The container that it is in.
    pub(crate) object: schism_hcf::ObjectId,
    /// Its name there.
    pub(crate) name: String,
    /// Its own imports.
    pub(crate) imports: Vec<String>,
    /// The image.
    pub(crate) data: Vec<u8>,
}

/// The images of the program that export a symbol. A crate that is linked twice counts once;
/// damaged containers are skipped.
pub(crate) fn exporters(symbol: &str) -> Vec<Exporter> {
    // As above; the result is copied before a shared object can be unloaded.
    let containers = containers();
    let mut found: Vec<Exporter> = Vec::new();
    for container in containers.iter() {
        // SAFETY: what is registered stays loaded for as long as the lock is held.
        let Ok(record) = (unsafe { container.record() }) else { continue };
        let object = record.object_id();
        for image in record.images() {
            let exports = image.code.is_none()
                && image.exported_symbols.iter().any(|exported| exported == symbol);
            if exports && found.iter().all(|known| known.object != object) {
                found.push(Exporter {
                    krate: record.crate_name().to_owned(),
                    object,
                    name: image.name.to_string(),
                    imports: image.imported_symbols.iter().map(ToString::to_string).collect(),
                    data: image.data.to_vec(),
                });
            }
        }
    }
    found
}

/// The container of a kernel. Loading a shared object registers its container; one whose
/// registration a linker lost is added here.
pub(crate) fn container_of(descriptor: &Descriptor) -> Arc<Container> {
    let (begin, end) = (descriptor.container_begin as usize, descriptor.container_end as usize);
    let mut containers = containers();
    if let Some(known) = containers.iter().find(|container| container.begin == begin) {
        return Arc::clone(known);
    }
    let container = Arc::new(Container { begin, end, host: 0, record: OnceLock::new() });
    containers.push(Arc::clone(&container));
    container
}

/// Runs before `main` and inside `dlopen`: it only records the container.
pub(crate) fn register(begin: *const u8, end: *const u8, host: *const *const ()) {
    let (begin, end, host) = (begin as usize, end as usize, host as usize);
    let container = Container { begin, end, host, record: OnceLock::new() };
    let _no_fork = NoForkGuard::enter();
    containers().push(Arc::new(container));
}

/// Unregisters a container. Returns the ids of the remaining ones; nothing if it is the program's
/// own.
pub(crate) fn unregister(begin: *const u8) -> Option<Vec<schism_hcf::ObjectId>> {
    // The program itself is unloaded only when the process ends. Its other threads may be running
    // kernels even now, and freeing their code would be pointless.
    if in_main_program(begin) {
        return None;
    }
    let _no_fork = NoForkGuard::enter();
    let mut containers = containers();
    containers.retain(|container| container.begin != begin as usize);
    Some(containers.iter().filter_map(|container| container.known_id()).collect())
}

/// Whether an address belongs to the executable, not to a shared library.
#[cfg(target_os = "linux")]
pub(crate) fn in_main_program(address: *const u8) -> bool {
    let base = |address: *const u8| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address is allowed; `info` can be written.
        let found = unsafe { libc::dladdr(address.cast(), info.as_mut_ptr()) } != 0;
        // SAFETY: filled if anything was found.
        found.then(|| unsafe { info.assume_init() }.dli_fbase)
    };
    // SAFETY: any key is allowed. The result is the address of the executable's program headers, or
    // 0.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as *const u8;
    !headers.is_null() && base(headers).is_some_and(|program| base(address) == Some(program))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn in_main_program(_: *const u8) -> bool {
    false
}
