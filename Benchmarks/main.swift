#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

let rows = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
do {
    try FirstSyncBenchmark.run(rows: rows, pairs: rows > 200_000 ? 3 : 7)
    exit(0)
} catch {
    print("benchmarks: \(error)")
    exit(1)
}
