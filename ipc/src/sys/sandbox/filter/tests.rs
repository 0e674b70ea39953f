use super::*;

/// What the kernel would do with the program.
fn run(program: &[libc::sock_filter], architecture: u32, number: u32, argument: u32) -> u32 {
    let mut loaded = 0;
    let mut at = 0;
    loop {
        let instruction = program[at];
        let value = instruction.k;
        at += 1;
        let code = u32::from(instruction.code);
        if code == libc::BPF_RET | libc::BPF_K {
            return value;
        }
        if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
            loaded = match value {
                NUMBER_AT => number,
                ARCHITECTURE_AT => architecture,
                ARGUMENT_AT => argument,
                other => panic!("loads from {other}"),
            };
            continue;
        }
        let holds = match code - (libc::BPF_JMP | libc::BPF_K) {
            libc::BPF_JEQ => loaded == value,
            libc::BPF_JGE => loaded >= value,
            libc::BPF_JSET => loaded & value != 0,
            other => panic!("an unknown test {other}"),
        };
        at += usize::from(if holds { instruction.jt } else { instruction.jf });
    }
}

fn call(level: Level, number: libc::c_long, argument: u32) -> u32 {
    run(&program(level), ARCHITECTURE, u32::try_from(number).expect("a small number"), argument)
}

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | 1;

#[test]
fn ordinary_calls_are_allowed_on_both_levels() {
    for level in [Level::Standard, Level::Strict] {
        for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_bind, libc::SYS_connect]
        {
            assert_eq!(call(level, number, 0), ALLOWED, "{number}");
        }
        // Of the future.
        assert_eq!(call(level, 9_999, 0), ALLOWED);
    }
}

#[test]
fn every_call_of_the_list_is_refused_with_an_error_and_not_with_a_signal() {
    for &number in CALLS {
        assert_eq!(call(Level::Standard, number, 0), EPERM, "{number}");
        assert_eq!(call(Level::Strict, number, 0), EPERM, "{number}");
    }
}

#[test]
fn other_interfaces_of_the_kernel_are_refused_whole() {
    let program = program(Level::Standard);
    assert_eq!(run(&program, 0x4000_0003, 0, 0), EPERM, "32-bit");
    assert_eq!(run(&program, ARCHITECTURE, X32, 0), EPERM, "x32");
    assert_eq!(run(&program, ARCHITECTURE, X32 - 1, 0), ALLOWED);
}

#[test]
fn limits_of_others_are_out_of_reach_and_its_own_are_not() {
    assert_eq!(call(Level::Standard, libc::SYS_prlimit64, 0), ALLOWED);
    assert_eq!(call(Level::Standard, libc::SYS_prlimit64, 4711), EPERM);
}

#[test]
fn processes_can_be_made_but_no_user_namespaces() {
    assert_eq!(call(Level::Standard, libc::SYS_clone, libc::SIGCHLD.unsigned_abs()), ALLOWED);
    assert_eq!(call(Level::Standard, libc::SYS_clone, CLONE_NEWUSER | 17), EPERM);
    assert_eq!(call(Level::Standard, libc::SYS_unshare, 0x0000_0200), ALLOWED);
    assert_eq!(call(Level::Standard, libc::SYS_unshare, CLONE_NEWUSER), EPERM);
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    assert_eq!(call(Level::Standard, libc::SYS_clone3, 0), missing);
}

#[test]
fn only_the_strict_level_refuses_sockets_of_the_network() {
    for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK] {
        assert_eq!(call(Level::Standard, libc::SYS_socket, family.unsigned_abs()), ALLOWED);
        assert_eq!(call(Level::Strict, libc::SYS_socket, family.unsigned_abs()), EPERM);
    }
    assert_eq!(call(Level::Strict, libc::SYS_socket, UNIX_SOCKETS), ALLOWED);
}

#[test]
fn nothing_is_refused_when_it_is_off() {
    assert!(program(Level::Off).is_empty());
}
