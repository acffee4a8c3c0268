import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.patient())
struct ChildProcessSignalTests {
    @Test func whatWeIgnoreAndBlockEndsTheProgram() async {
        await #expect(processExitsWith: .success) {
            let numbers = [SIGPIPE, SIGTERM, SIGHUP, SIGINT, SIGUSR1]
            var blocked = sigset_t()
            sigemptyset(&blocked)
            for number in numbers {
                signal(number, SIG_IGN)
                sigaddset(&blocked, number)
            }
            pthread_sigmask(SIG_BLOCK, &blocked, nil)
            for number in numbers {
                let result = try ChildProcess.spawn("/bin/sh", ["-c", "kill -\(number) $$; exit 9"])
                #expect(await result.wait() == .signalled(number))
            }
        }
    }

    @Test func aSignalReachesTheProgramUntilItsEndAndNobodyAfterIt() async throws {
        let child = try ChildProcess.spawn("sleep", ["600"])
        child.signal(SIGTERM)
        #expect(await child.wait() == .signalled(SIGTERM))
        #expect(child.hasEnded)
        child.signal(SIGTERM)
        #expect(await child.wait() == .signalled(SIGTERM), "a later caller learns the same")
    }

    /// Ctrl-C goes to the process group in the foreground of the terminal's session.
    @Test(arguments: [true, false])
    func aProgramInASessionOfItsOwnIsOutOfReachOfCtrlC(ownSession: Bool) async throws {
        let child = try ChildProcess.spawn("sleep", ["600"], ownSession: ownSession)
        #expect((getsid(child.id) == getsid(0)) == !ownSession)
        #expect((getpgid(child.id) == getpgrp()) == !ownSession)
        #expect((getsid(child.id) == child.id) == ownSession)
        child.signal(SIGKILL)
        _ = await child.wait()
    }
}
