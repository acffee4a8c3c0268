import Foundation

/// What takes the inputs of this process.
///
/// Safe because libFuzzer calls everything here on its one thread.
nonisolated(unsafe) private var target = makeTarget()

private func chosenType() -> any FuzzTarget.Type {
    let name = ProcessInfo.processInfo.environment["POWERSYNC_FUZZ_TARGET"] ?? ""
    guard let type = FuzzTargets.type(named: name) else {
        fatalError("POWERSYNC_FUZZ_TARGET names no target: '\(name)'")
    }
    return type
}

private func makeTarget() -> any FuzzTarget {
    do { return try chosenType().init() } catch { fatalError("the target cannot be made: \(error)") }
}

/// Called once by libFuzzer, before it reads corpus and dictionary: writes what the target begins with.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeMutableRawPointer, _: UnsafeMutableRawPointer) -> Int32 {
    giveSignalHandlersAStack()
    let environment = ProcessInfo.processInfo.environment
    if let fixtures = environment["POWERSYNC_FUZZ_FIXTURES"],
        let folder = environment["POWERSYNC_FUZZ_FOLDER"]
    {
        do {
            let inputs = FirstInputs(folder: URL(filePath: folder))
            let count = try inputs.write(chosenType(), fixtures: URL(filePath: fixtures))
            print("\(count) first inputs")
        } catch {
            fatalError("no first inputs could be written: \(error)")
        }
    }
    // What it takes to make the target is no time of the first input.
    _ = target
    // libFuzzer ends through exit(), after findings too.
    atexit { target.tally.report() }
    return 0
}

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// Without one, an input that uses up the stack would end the process before libFuzzer could write it down.
private func giveSignalHandlersAStack() {
    var stack = stack_t()
    guard sigaltstack(nil, &stack) == 0, stack.ss_sp == nil else { return }
    let size = 1 << 20
    stack = stack_t()
    stack.ss_sp = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    stack.ss_size = size
    guard sigaltstack(&stack, nil) == 0 else { fatalError("signal handlers have no stack") }
}
