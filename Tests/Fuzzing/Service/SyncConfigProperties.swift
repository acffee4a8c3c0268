import PowerSyncMockService

/// What must hold for every sync configuration.
enum SyncConfigProperties {
    static func check(_ text: String, _ tally: inout Tally) {
        let results = (0..<2).map { _ in
            Result { () throws(SyncConfigError) in try SyncConfigReader.compile(text) }
        }
        switch (results[0], results[1]) {
        case (.success(let config), .success(let again)):
            guard config.sources == again.sources,
                config.streams.map(\.variants) == again.streams.map(\.variants)
            else { fatalError("a text means two things") }
            let used = config.streams.flatMap(\.variants).map(\.source)
            guard used.allSatisfy(config.sources.indices.contains) else {
                fatalError("a source that is not there")
            }
            tally.count("sync configurations")
            tally.count("bucket sources", config.sources.count)
        case (.failure(let error), .failure(let again)):
            guard error == again, !error.diagnostics.isEmpty else { fatalError("two answers for one text") }
            let places = TextPlaces(text)
            for diagnostic in error.diagnostics {
                guard places.have(line: diagnostic.line, column: diagnostic.column),
                    !diagnostic.message.isEmpty
                else { fatalError("an error that is nowhere in the text: \(diagnostic)") }
            }
            tally.count("sync configurations refused")
        default: fatalError("a text is accepted and refused")
        }
    }
}
