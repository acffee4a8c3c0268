import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The folder of `initdb` and `postgres`, which distributions keep out of PATH.
package struct PostgresBinaries: Sendable, Equatable {
    /// Where they are looked for, as a value so that tests can empty it.
    package struct Places: Sendable {
        /// Folders in which `pg_config` may be; it names the folder of the server.
        package var searchPath: [String]
        /// Folders with one sub-folder a version.
        package var versioned: [String]
        /// Folders that have the programs themselves.
        package var fixed: [String]

        package init(searchPath: [String], versioned: [String], fixed: [String]) {
            self.searchPath = searchPath
            self.versioned = versioned
            self.fixed = fixed
        }

        /// PATH for `pg_config`, then the folders of Debian, of Red Hat and of Homebrew.
        package static func ofThisMachine() -> Places {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
            return Places(
                searchPath: path.split(separator: ":").map(String.init),
                versioned: ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"],
                fixed: ["/usr/pgsql/bin", "/usr/libexec/postgresql", "/opt/homebrew/bin"])
        }
    }

    package let directory: String

    /// Accepts a folder that has both programs.
    package init?(directory: String) {
        guard ["initdb", "postgres"].allSatisfy({ Self.isExecutable("\(directory)/\($0)") }) else {
            return nil
        }
        self.directory = directory
    }

    var initdb: String { "\(directory)/initdb" }
    var postgres: String { "\(directory)/postgres" }

    /// Finds the folder that `pg_config` names, else the newest version, else one of the fixed folders.
    ///
    /// Throws `missingBinaries`, which says what to install.
    package static func find(
        in places: Places = .ofThisMachine()
    ) async throws(PostgresServerError) -> PostgresBinaries {
        for folder in places.searchPath where isExecutable("\(folder)/pg_config") {
            if let named = await bindir("\(folder)/pg_config"), let found = PostgresBinaries(directory: named)
            {
                return found
            }
        }
        for directory in places.versioned.flatMap(newestFirst) + places.fixed {
            if let found = PostgresBinaries(directory: directory) { return found }
        }
        throw PostgresServerError(
            .missingBinaries,
            "the programs initdb and postgres were not found: install PostgreSQL (Debian, Ubuntu: apt-get install "
                + "postgresql; macOS: brew install postgresql@17)")
    }

    /// What a `pg_config` says; nil if it does not work, because then there are other places to look.
    private static func bindir(_ program: String) async -> String? {
        guard let run = try? await ChildProcess.run(program, ["--bindir"], timeout: .seconds(60)),
            case .exited(0) = run.status
        else { return nil }
        return run.output.split(whereSeparator: \.isNewline).first.map(String.init)
    }

    /// The `bin` folders of the versions below a folder: `15/bin` of Debian, `postgresql@15/bin` of Homebrew.
    private static func newestFirst(_ folder: String) -> [String] {
        // A folder that is not there has no versions.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let versions = names.compactMap { name -> (version: Double, path: String)? in
            let number = name.hasPrefix("postgresql@") ? String(name.dropFirst("postgresql@".count)) : name
            return Double(number).map { ($0, "\(folder)/\(name)/bin") }
        }
        return versions.sorted { $0.version > $1.version }.map(\.path)
    }

    private static func isExecutable(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }
}
