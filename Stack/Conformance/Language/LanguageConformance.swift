import PowerSyncSyncRules
import PowerSyncWire

/// Compiles recorded configurations, runs them in memory, and tells what differs from the real compiler and evaluator.
package struct LanguageConformance: Sendable {
    /// The jobs to run; nil for all.
    package var only: NumberRanges?
    /// The jobs that may differ.
    package var missing = MissingJobs()
    /// Whether jobs that may differ, and the configurations of those that do, are shown.
    package var isVerbose = false
    /// Compiles a configuration.
    package var compile: @Sendable (_ yaml: String, _ schema: SourceSchema?) -> CompiledConfig = {
        SyncConfig.compile($0, schema: $1)
    }
    /// Receives each line of the report.
    package var print: @Sendable (String) -> Void

    /// How many lines of one place are shown.
    private static let shownLines = 20

    /// Makes a run.
    ///
    /// - Parameter print: receives each line of the report.
    package init(print: @escaping @Sendable (String) -> Void) { self.print = print }

    private struct Counts {
        var passed = 0
        var failed = 0
        var listed = 0
        var reordered = 0
    }

    /// Runs every job of some files.
    ///
    /// - Parameter paths: files of JSON lines, with `worlds.json` beside them.
    /// - Returns: whether all are as recorded, or may differ.
    /// - Throws: `StackError` if there is nothing to run, or a file is no such file; `CancellationError`.
    package func run(_ paths: [String]) throws -> Bool {
        var counts = Counts()
        try missing.checkFiles(of: paths)
        for path in paths { try run(path, &counts) }
        guard counts.passed + counts.failed + counts.listed > 0 else {
            throw StackError(.file, "there is no such job in \(paths.joined(separator: ", "))")
        }
        if counts.reordered > 0 {
            print(
                "\(counts.reordered) have the values of a bucket's name in another order, which counts as equal"
            )
        }
        if counts.listed > 0 { print("\(counts.listed) differ and are listed") }
        print("\(counts.passed) passed, \(counts.failed) failed")
        return counts.failed == 0
    }

    private func run(_ path: String, _ counts: inout Counts) throws {
        let (folder, name) = Self.parts(of: path)
        // First what was named: worlds.json lies beside it alone.
        guard !JSONFiles.isFolder(path) else {
            throw StackError(.file, "\(path) is a folder; name a file of JSON lines, see --help")
        }
        let lines = try Array(TextFile.read(path).utf8).split(separator: UInt8(ascii: "\n"))
        let worlds = try LanguageWorlds(parsing: TextFile.read(folder + "worlds.json"))
        var ids: Set<Int> = []
        for (number, line) in lines.enumerated() {
            try Task.checkCancellation()
            let job: LanguageJob
            let comparison: LanguageComparison
            do throws(StackError) {
                job = try LanguageJob(Array(line))
                ids.insert(job.id)
                if let only, !only.contains(job.id) { continue }
                comparison = LanguageComparison(
                    job, compile(job.yaml, worlds.schema(of: job)), try worlds.tables(of: job))
            } catch {
                throw StackError(.file, "\(path): line \(number + 1): \(error.message)")
            }
            if comparison.isReordered { counts.reordered += 1 }
            let reason = missing.reason(of: job.id, in: name)
            if comparison.differences.isEmpty, let reason, only == nil {
                counts.failed += 1
                print("\(path): job \(job.id) is listed (\(reason)), but equal: strike it off")
            } else if comparison.differences.isEmpty {
                counts.passed += 1
            } else if let reason {
                counts.listed += 1
                if isVerbose { print("\(path): job \(job.id) differs as listed: \(reason)") }
            } else {
                counts.failed += 1
                tell(comparison.differences, of: job, in: path)
            }
        }
        for unknown in missing.ids(beside: ids, in: name) {
            counts.failed += 1
            print("\(path): there is no job \(unknown), which is listed: strike it off")
        }
    }

    private func tell(_ differences: [LanguageComparison.Difference], of job: LanguageJob, in path: String) {
        print("\(path): job \(job.id) differs")
        if isVerbose || only != nil {
            for line in job.yaml.split(separator: "\n") { print("    | \(line)") }
        }
        for difference in differences {
            print("  \(difference.title):")
            let lines = difference.missing.map { "    - \($0)" } + difference.extra.map { "    + \($0)" }
            let shown = isVerbose || only != nil ? lines.count : Self.shownLines
            // A message of the real parser has many lines.
            for line in lines.prefix(shown) { print(Self.oneLine(line)) }
            if lines.count > shown { print("    and \(lines.count - shown) more") }
        }
    }

    private static func oneLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? text
    }

    /// The folder with its slash, and the name without its ending.
    static func parts(of path: String) -> (folder: String, name: String) {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let file = path[slash...]
        let name = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        return (folder: String(path[..<slash]), name: String(name))
    }
}
