//! The symbolic link to a pseudo-terminal, and its owner.
//!
//! A name may belong to another run, to udev or to a user. So a run that creates the link `imu` also creates the file
//! `.imu.menura`, called mark, which identifies the link. The run keeps the mark locked (flock(2)) until it ends. The
//! kernel unlocks the mark even if the run crashes, so a mark that can be locked has no running owner. Process ids are
//! not used for this, because the system reuses them.
//!
//! A link is replaced if its mark can be locked and names it, and removed at the end if it is still the same link. All
//! other links stay. No lock prevents a program from replacing the link in the microseconds between this check and the
//! removal.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// Number of attempts to lock a mark. Several runs may create and remove marks at the same time; a run whose mark was
/// removed tries again.
const ATTEMPTS: usize = 100;
/// Largest size of a mark, bytes.
const MAX_MARK_BYTES: u64 = 8192;

/// A link that this run has created and will remove.
#[derive(Debug)]
pub(super) struct PtyName {
    link: PathBuf,
    mark_path: PathBuf,
    /// File of the mark, locked while it is open.
    _mark: File,
    made: LinkIdentity,
}

/// Identity of a symbolic link, to distinguish it from other links of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkIdentity {
    inode: u64,
    made_s: i64,
    made_ns: i64,
}

impl PtyName {
    /// Creates the symbolic link `link` to `terminal`, and its folders.
    ///
    /// # Errors
    /// The name belongs to another run, or to a file that no run of this program created; the error names it and the
    /// remedy. Or the link, its folders or its mark cannot be created.
    pub(super) fn claim(link: &Path, terminal: &Path) -> io::Result<Self> {
        let told = |error: io::Error| super::told(&error, &cannot_make(link));
        let Some(name) = link.file_name() else {
            return Err(told(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path has no file name",
            )));
        };
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder).map_err(told)?;
        }
        let mark_path = link.with_file_name(format!(".{}.menura", name.to_string_lossy()));
        let mark = lock_mark(&mark_path).map_err(told)?;
        match make(link, terminal, &mark) {
            Ok(made) => Ok(Self { link: link.to_owned(), mark_path, _mark: mark, made }),
            Err(error) => {
                // This run has created no link, so it removes the mark.
                let _ = fs::remove_file(&mark_path);
                Err(told(error))
            }
        }
    }
}

impl Drop for PtyName {
    fn drop(&mut self) {
        let is_ours = |found: &Metadata| LinkIdentity::of(found).as_ref() == Some(&self.made);
        if fs::symlink_metadata(&self.link).as_ref().is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.link);
        }
        // Removed while it is locked, so that it cannot be the mark of another run.
        let _ = fs::remove_file(&self.mark_path);
    }
}

impl LinkIdentity {
    /// Identity of the symbolic link with this metadata; `None` for other kinds of files.
    fn of(found: &Metadata) -> Option<Self> {
        found.file_type().is_symlink().then(|| Self {
            inode: found.ino(),
            made_s: found.mtime(),
            made_ns: found.mtime_nsec(),
        })
    }
}

fn cannot_make(link: &Path) -> String {
    format!("cannot make the link {}", link.display())
}

/// Creates the link and records it in `mark`; replaces a link that `mark` names.
fn make(link: &Path, terminal: &Path, mark: &File) -> io::Result<LinkIdentity> {
    match fs::symlink_metadata(link) {
        Ok(found) => {
            let target = fs::read_link(link).ok();
            if !Mark::read(mark)?.names(&found, target.as_deref()) {
                let what = match target {
                    Some(target) => format!("another symbolic link, to {},", target.display()),
                    None => "another file".to_owned(),
                };
                let text = format!("there is {what} with this name; remove it or choose another");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            fs::remove_file(link)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The terminal is recorded first, so that the link can be recognised even if this process ends meanwhile.
    Mark { terminal: Some(terminal.to_owned()), link: None }.write(mark)?;
    symlink(terminal, link)?;
    let made = LinkIdentity::of(&fs::symlink_metadata(link)?)
        .ok_or_else(|| io::Error::other("another program has replaced it"))?;
    Mark { terminal: Some(terminal.to_owned()), link: Some(made.clone()) }.write(mark)?;
    Ok(made)
}

/// Content of a mark.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mark {
    terminal: Option<PathBuf>,
    /// Identity of the link; `None` if a run ended while it created the link.
    link: Option<LinkIdentity>,
}

impl Mark {
    fn read(file: &File) -> io::Result<Self> {
        let mut mark = Self::default();
        for line in text_of(file)?.lines() {
            match line.split_once(' ') {
                Some(("terminal", path)) => mark.terminal = Some(path.into()),
                Some(("link", numbers)) => {
                    let numbers: Vec<i64> =
                        numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
                    if let [inode, made_s, made_ns] = numbers[..] {
                        mark.link = Some(LinkIdentity { inode: inode as u64, made_s, made_ns });
                    }
                }
                _ => {}
            }
        }
        Ok(mark)
    }

    /// Whether the mark names this symbolic link, which points to `target`.
    fn names(&self, found: &Metadata, target: Option<&Path>) -> bool {
        let is_same_target = target.is_some() && self.terminal.as_deref() == target;
        is_same_target
            && match &self.link {
                Some(made) => LinkIdentity::of(found).as_ref() == Some(made),
                None => true,
            }
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let mut text = format!("process {}\n", std::process::id());
        if let Some(terminal) = &self.terminal {
            text += &format!("terminal {}\n", terminal.display());
        }
        if let Some(LinkIdentity { inode, made_s, made_ns }) = &self.link {
            text += &format!("link {} {made_s} {made_ns}\n", *inode as i64);
        }
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }
}

fn text_of(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut file = file;
    io::Seek::rewind(&mut file)?;
    file.take(MAX_MARK_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens or creates the file at `path`, and locks it.
fn lock_mark(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let Some((file, is_writable)) = open_mark(path)? else { continue };
        let found = file.metadata()?;
        if !found.is_file() || found.nlink() > 1 {
            let text = format!("{} must be its lock file, but is another file", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(in_use(&file)),
            Err(error) => return Err(super::told(&error.into(), &cannot_lock(path))),
        }
        // The previous owner may have removed the file before it was locked here.
        let now = fs::symlink_metadata(path);
        if !now.is_ok_and(|now| (now.dev(), now.ino()) == (found.dev(), found.ino())) {
            continue;
        }
        if !is_writable {
            let mark = path.display();
            let text = format!("another user's run has left it; remove it and {mark}");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        return Ok(file);
    }
    Err(io::Error::other(format!("{} keeps changing", path.display())))
}

/// Opens a mark, read-only if it belongs to another user; returns the file and whether it can be written. `None` if
/// the mark was created or removed at the same time.
fn open_mark(path: &Path) -> io::Result<Option<(File, bool)>> {
    // A shared folder may contain anything: symbolic links are not followed, and a pipe must not block.
    let safe = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = |flags| rustix::fs::open(path, flags | safe, Mode::from_raw_mode(0o644));
    let opened = match open(OFlags::RDWR) {
        // A separate call creates the file: opening an existing file with O_CREAT can be refused (proc_sys_fs(5),
        // protected_regular).
        Err(Errno::NOENT) => open(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL),
        other => other,
    };
    match opened {
        Ok(file) => Ok(Some((file.into(), true))),
        Err(Errno::EXIST) => Ok(None),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if path.exists() => {
            match open(OFlags::RDONLY) {
                Ok(file) => Ok(Some((file.into(), false))),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(super::told(&error.into(), &cannot_lock(path))),
            }
        }
        Err(error) => Err(super::told(&error.into(), &cannot_lock(path))),
    }
}

fn cannot_lock(mark: &Path) -> String {
    format!("cannot lock its lock file {}", mark.display())
}

/// Error for a name that is in use, because its mark is locked. It names the process that `mark` contains.
fn in_use(mark: &File) -> io::Error {
    let text = text_of(mark).unwrap_or_default();
    let process = text.lines().find_map(|line| line.strip_prefix("process "));
    let who = match process {
        Some(id) if id == std::process::id().to_string() => "another link of this run".to_owned(),
        Some(id) => format!("another running Menura (process {id})"),
        None => "another running Menura".to_owned(),
    };
    let text = format!("{who} has this name; choose another, or end that run");
    io::Error::new(io::ErrorKind::AddrInUse, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn claim(link: &Path, terminal: &str) -> io::Result<PtyName> {
        PtyName::claim(link, Path::new(terminal))
    }

    /// Leaves a name in the state after a killed run.
    fn killed(name: PtyName) {
        flock(&name._mark, FlockOperation::Unlock).unwrap();
        std::mem::forget(name);
    }

    fn target(link: &Path) -> String {
        fs::read_link(link).unwrap().to_string_lossy().into_owned()
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_name_in_use_stays_with_its_user_and_is_free_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("imu");
        let first = claim(&link, "/dev/pts/1000001").unwrap();
        let error = claim(&link, "/dev/pts/1000002").unwrap_err();
        assert!(error.to_string().contains("another link of this run has this name"), "{error}");
        assert_eq!(target(&link), "/dev/pts/1000001");
        drop(first);
        assert!(names_in(folder.path()).is_empty(), "link and mark are removed");
        claim(&link, "/dev/pts/1000002").unwrap();
    }

    #[test]
    fn what_a_killed_run_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("imu");
        killed(claim(&link, "/dev/pts/1000001").unwrap());
        assert_eq!(names_in(folder.path()), [".imu.menura", "imu"]);
        let next = claim(&link, "/dev/pts/1000002").unwrap();
        assert_eq!(target(&link), "/dev/pts/1000002");
        drop(next);
        assert!(names_in(folder.path()).is_empty());
        // The run was killed after it created the link and before it recorded its identity.
        killed(claim(&link, "/dev/pts/1000001").unwrap());
        let mark = folder.path().join(".imu.menura");
        fs::write(&mark, "process 1\nterminal /dev/pts/1000001\n").unwrap();
        claim(&link, "/dev/pts/1000002").unwrap();
    }

    #[test]
    fn a_link_of_others_is_neither_replaced_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("imu");
        // The link is kept even if its target does not exist or the terminal belongs to others.
        for theirs in ["/dev/ttyUSB0", "/dev/null", "/dev/pts/1000001"] {
            symlink(theirs, &link).unwrap();
            let error = claim(&link, "/dev/pts/1000002").unwrap_err();
            let expected = format!("there is another symbolic link, to {theirs}, with this name");
            assert!(error.to_string().contains(&expected), "{error}");
            assert_eq!(names_in(folder.path()), ["imu"]);
            fs::remove_file(&link).unwrap();
        }
        // The link was replaced during the run by one to the same terminal.
        let ours = claim(&link, "/dev/pts/1000001").unwrap();
        fs::remove_file(&link).unwrap();
        symlink("/dev/pts/1000001", &link).unwrap();
        drop(ours);
        assert_eq!(names_in(folder.path()), ["imu"]);
        fs::remove_file(&link).unwrap();
        // The link of a killed run was replaced, and the number of its terminal is in use again.
        killed(claim(&link, "/dev/pts/1000001").unwrap());
        fs::remove_file(&link).unwrap();
        symlink("/dev/pts/1000001", &link).unwrap();
        claim(&link, "/dev/pts/1000002").unwrap_err();
        assert_eq!(target(&link), "/dev/pts/1000001");
    }

    #[test]
    fn what_is_no_mark_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("imu");
        let mark = folder.path().join(".imu.menura");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &mark).unwrap();
        claim(&link, "/dev/pts/1000001").unwrap_err();
        fs::remove_file(&mark).unwrap();
        fs::hard_link(&victim, &mark).unwrap();
        let error = claim(&link, "/dev/pts/1000001").unwrap_err();
        assert!(error.to_string().contains("but is another file"), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(mark.exists() && !link.exists());
    }

    /// Several threads create and remove marks at the same time; only one has the name at a time.
    #[test]
    fn of_many_at_once_one_has_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("imu");
        let (holders, claims) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (link, holders, claims) = (&link, &holders, &claims);
                scope.spawn(move || {
                    let mine = format!("/dev/pts/{}", 1_000_000 + thread);
                    for _ in 0..300 {
                        let Ok(name) = claim(link, &mine) else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        assert_eq!(target(link), mine);
                        claims.fetch_add(1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(name);
                    }
                });
            }
        });
        assert!(claims.into_inner() > 0 && names_in(folder.path()).is_empty());
    }
}
