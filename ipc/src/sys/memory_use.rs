//! How much memory a process and its children use, as `/proc` counts it.
//!
//! Counted is what only ends with the processes: their own pages and shared memory, swapped out or not. Pages of files, such
//! as a model that is mapped, are the kernel's to take back.

use std::{fs, io};

/// More processes of one worker are not looked at.
const PROCESSES_MAX: usize = 256;

/// Bytes that a process and its descendants use. Pages that several of them share are counted for each, unless the sum is
/// above `exact_above`: then they are counted once, which takes longer.
pub fn of_tree(pid: u32, exact_above: u64) -> io::Result<u64> {
    let quick = quick(pid)?;
    let mut tree = vec![pid];
    let mut next = 0;
    while next < tree.len() && tree.len() < PROCESSES_MAX {
        tree.extend(children(tree[next]));
        next += 1;
    }
    let others = tree[1..].iter().filter_map(|&pid| self::quick(pid).ok());
    let sum = others.fold(quick, u64::saturating_add);
    if tree.len() == 1 || sum <= exact_above {
        return Ok(sum);
    }
    let exact = tree.iter().map(|&pid| exact(pid).or_else(|_| self::quick(pid)).unwrap_or(0));
    Ok(exact.fold(0, u64::saturating_add))
}

fn quick(pid: u32) -> io::Result<u64> {
    Ok(sum(&fs::read_to_string(format!("/proc/{pid}/status"))?, &["RssAnon", "RssShmem", "VmSwap"]))
}

fn exact(pid: u32) -> io::Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    Ok(sum(&rollup, &["Pss_Anon", "Pss_Shmem", "SwapPss"]))
}

/// The children of all threads of a process. Kernels without the file have none to tell.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The sum of some lines such as `RssAnon:  123 kB`, in bytes.
fn sum(text: &str, names: &[&str]) -> u64 {
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        names.contains(&name).then(|| value.trim().strip_suffix(" kB")?.parse::<u64>().ok())?
    });
    values.fold(0, |sum, value| sum.saturating_add(value.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_lines_count() {
        let text =
            "VmRSS:\t  900 kB\nRssAnon:\t     200 kB\nRssFile:\t 600 kB\nRssShmem:\t 100 kB\nThreads:\t7\n";
        assert_eq!(sum(text, &["RssAnon", "RssShmem"]), 300 * 1024);
    }

    #[test]
    fn memory_that_is_taken_is_seen() {
        const TAKEN: usize = 64 << 20;
        let before = of_tree(std::process::id(), u64::MAX).expect("/proc");
        let taken = vec![1_u8; TAKEN];
        let after = of_tree(std::process::id(), 0).expect("/proc");
        assert!(after >= before + TAKEN as u64 / 2, "{before} {after} {}", taken.len());
    }

    #[test]
    fn a_process_that_has_gone_is_an_error() {
        assert!(of_tree(u32::MAX, 0).is_err());
    }
}
