import PowerSyncSyncRules

extension SyncDocument {
    /// All that is wrong with the YAML, in the order in which it is told.
    var allDiagnostics: DiagnosticList {
        var all = diagnostics
        for definition in definitions { all.add(definition.notes.all) }
        for stream in streams { all.add(stream.notes.all) }
        for event in events { all.add(event.notes.all) }
        all.add(trailing)
        return all
    }
}
