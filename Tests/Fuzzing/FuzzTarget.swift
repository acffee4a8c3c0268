import Foundation

/// What has been decoded since the process began.
///
/// Safe because libFuzzer calls everything here on its one thread.
nonisolated(unsafe) private var tally = Tally()

/// Called once by libFuzzer, before it reads its corpus: writes the lines of the fixtures as first inputs.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeMutableRawPointer, _: UnsafeMutableRawPointer) -> Int32 {
    let environment = ProcessInfo.processInfo.environment
    if let fixtures = environment["POWERSYNC_FUZZ_FIXTURES"], let seeds = environment["POWERSYNC_FUZZ_SEEDS"]
    {
        do {
            let count = try SeedCorpus.write(linesOf: URL(filePath: fixtures), to: URL(filePath: seeds))
            print("\(count) first inputs from the fixtures")
        } catch {
            fatalError("no first inputs could be written: \(error)")
        }
    }
    // libFuzzer ends through exit(), after findings too.
    atexit { tally.report() }
    return 0
}

/// Called by libFuzzer for each input; a property that does not hold ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    FuzzInput(bytes: Array(UnsafeBufferPointer(start: bytes, count: count)))?.check(counting: &tally)
    return 0
}
