//! Detects from the environment variables of MPI launchers whether this process was started as one of
//! several.

/// Environment variables with the number of processes: of Open MPI, PMI (MPICH, Intel MPI) and MVAPICH.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Number of processes that were started together; `None` for a single process.
pub fn processes() -> Option<usize> {
    processes_by(|name| std::env::var(name).ok())
}

fn processes_by(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let sizes = SIZES.iter().filter_map(|name| variable(name)?.trim().parse().ok());
    sizes.max().filter(|size| *size > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_how_many_there_are() {
        let with = |name: &'static str, value: &'static str| {
            processes_by(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(with("OMPI_COMM_WORLD_SIZE", "4"), Some(4));
        assert_eq!(with("PMI_SIZE", "2"), Some(2));
        assert_eq!(with("OMPI_COMM_WORLD_SIZE", "1"), None, "one is as good as none");
        assert_eq!(with("OMPI_COMM_WORLD_SIZE", "many"), None);
        assert_eq!(with("HOME", "4"), None);
    }
}
