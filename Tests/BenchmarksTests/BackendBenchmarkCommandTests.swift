import PowerSyncCommandLine
import PowerSyncSystem
import Testing

@testable import PowerSyncBenchmarks

@Suite struct BackendBenchmarkCommandTests {
    @Test func theHelpNamesEveryPart() {
        let help = BackendBenchmarkCommand.command.discussion
        for part in BackendPart.allCases {
            #expect(help.contains("\n \(part.rawValue) "), "\(part.rawValue)")
        }
    }

    @Test(arguments: [
        (
            ["--only", "mixed", "--only", "mix"],
            "--only does not take \"mix\"; there are uniform, mixed, plain, singles"
        ),
        (["--pairs", "0"], "--pairs takes a number from 1 to 99, not \"0\""),
        (["--fsync", "maybe"], "--fsync takes on or off, not \"maybe\""),
        (["--program", "nowhere/backend"], "--program: nowhere/backend is no program"),
        (["--rows", "1000"], "there is no option --rows"),
    ])
    func aLineThatMakesNoSenseStartsNothing(words: [String], message: String) async {
        let said = Lock<[String]>([])
        let status = await BackendBenchmarkCommand.command.main(words) { line in
            said.withLock { $0.append(line) }
        }
        #expect(status == 64)
        #expect(said.withLock { $0.count } == 1)
        #expect(said.withLock { $0.first }?.hasPrefix("error: " + message) == true)
    }
}
