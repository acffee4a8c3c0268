import PowerSyncYAML

/// Reads the YAML text of a sync configuration of edition 3 and compiles its streams (service 6.1, 6.2).
package struct SyncConfigReader {
    private let text: [UInt8]
    private var diagnostics: [SyncConfigDiagnostic] = []
    private var linker = StreamLinker()

    /// Reads and compiles a configuration.
    ///
    /// - Parameter text: The YAML.
    /// - Returns: What it means.
    /// - Throws: `SyncConfigError` with everything that is wrong, each with line and column.
    package static func compile(_ text: String) throws(SyncConfigError) -> CompiledSyncConfig {
        let root: YAMLNode?
        do throws(YAMLError) {
            root = try YAMLNode.parse(text)
        } catch {
            let diagnostic = SyncConfigDiagnostic(
                message: error.message, line: error.line, column: error.column)
            throw SyncConfigError([diagnostic])
        }
        var reader = SyncConfigReader(text: Array(text.utf8))
        let config = reader.read(root)
        guard reader.diagnostics.isEmpty, let config else { throw SyncConfigError(reader.diagnostics) }
        return config
    }

    private init(text: [UInt8]) { self.text = text }

    private mutating func add(_ message: String, _ node: YAMLNode?) {
        diagnostics.append(
            SyncConfigDiagnostic(message: message, line: node?.line ?? 1, column: node?.column ?? 1))
    }

    private mutating func add(_ error: QueryError, in node: YAMLNode) {
        let place = ScalarPlaces(node: node, text: text).place(of: error.offset)
        diagnostics.append(
            SyncConfigDiagnostic(message: error.message, line: place.line, column: place.column))
    }

    private mutating func read(_ root: YAMLNode?) -> CompiledSyncConfig? {
        guard let pairs = root?.pairs else {
            add("Sync Config must be a YAML map.", root)
            return nil
        }
        var conversion = ConversionOptions()
        var edition = 1
        var streams: YAMLNode?
        for (key, value) in pairs {
            switch key.string {
            case "config": conversion = options(value, &edition)
            case "streams": streams = value
            case "bucket_definitions":
                add("'bucket_definitions' are not supported by this service, use 'streams'.", key)
            case "with": add("Common table expressions are not supported by this service.", key)
            case "event_definitions": add("'event_definitions' are not supported by this service.", key)
            case let name: add("Unknown key '\(name ?? "")'.", key)
            }
        }
        guard let streams, let definitions = streams.pairs else {
            add("'streams' are required.", streams ?? root)
            return nil
        }
        if edition < 3 {
            add(
                "Only Sync Streams of edition 3 are supported by this service: `config: {edition: 3}`.",
                root?["config"])
        }
        for (key, value) in definitions { stream(key, value) }
        return linker.finish(conversion)
    }

    private mutating func options(_ node: YAMLNode, _ edition: inout Int) -> ConversionOptions {
        var options = ConversionOptions()
        guard let pairs = node.pairs else {
            add("Expected a map here.", node)
            return options
        }
        for (key, value) in pairs {
            switch key.string {
            case "edition":
                guard let number = value.int else {
                    add("must be numeric", value)
                    break
                }
                edition = number
                if number > 3 { add("must be < 4", value) }
            case "storage_version":
                if value.int == 1 { add("Storage version 1 is not supported", value) }
                if value.int == nil { add("must be numeric", value) }
            case "timestamps_iso8601", "versioned_bucket_ids", "fixed_json_extract", "custom_postgres_types":
                if value.bool == nil { add("must be a boolean", value) }
                if value.bool == false { add("Only 'true' is supported by this service.", value) }
            case "timestamp_max_precision":
                let digits = ["seconds": 0, "milliseconds": 3, "microseconds": 6, "nanoseconds": 6]
                options.fractionDigits = value.string.flatMap { digits[$0] }
                if options.fractionDigits == nil {
                    add("Expected one of seconds, milliseconds, microseconds, nanoseconds.", value)
                }
            case "unstable_sqlite_expression_engine":
                if value.bool == nil { add("must be a boolean", value) }
                if value.bool == true { add("This engine is not supported by this service.", value) }
            case let name: add("Unknown key '\(name ?? "")'.", key)
            }
        }
        return options
    }

    private mutating func stream(_ key: YAMLNode, _ node: YAMLNode) {
        guard let name = key.string else { return add("Expected a scalar here.", key) }
        guard let pairs = node.pairs else { return add("Expected a map here.", node) }
        var queries: [YAMLNode] = []
        var querySources = 0
        var isDefault = false
        var priority = 3
        for (key, value) in pairs {
            switch key.string {
            case "query":
                querySources += 1
                if value.string == nil { add("Expected a scalar here.", value) } else { queries = [value] }
            case "queries":
                querySources += 1
                if let elements = value.elements {
                    queries = elements
                } else {
                    add("Expected a sequence here.", value)
                }
            case "auto_subscribe": isDefault = bool(value) ?? false
            case "accept_potentially_dangerous_queries": _ = bool(value)
            case "priority":
                if let number = value.int, (0...3).contains(number) {
                    priority = number
                } else {
                    add("Invalid priority, expected a number between 0 and 3 (inclusive).", value)
                }
            case "with": add("Common table expressions are not supported by this service.", key)
            case let name: add("Unknown key '\(name ?? "")'.", key)
            }
        }
        if querySources != 1 || (queries.isEmpty && diagnostics.isEmpty) {
            add("One of `queries` or `query` must be given.", key)
        }
        var compiled: [CompiledQuery] = []
        for query in queries {
            guard let sql = query.string else {
                add("Expected a scalar here.", query)
                continue
            }
            do throws(QueryError) {
                compiled.append(try QueryCompiler.compile(sql))
            } catch {
                add(error, in: query)
            }
        }
        linker.add(stream: name, isDefault: isDefault, priority: priority, queries: compiled)
    }

    private mutating func bool(_ node: YAMLNode) -> Bool? {
        if node.bool == nil { add("must be a boolean", node) }
        return node.bool
    }
}
