import PowerSyncWire

/// Where a source row is synced to, and by which lookups it is found: what `source_row` keeps of it (DESIGN.md, 1).
///
/// The same places have the same bytes, so an update that moves nothing writes nothing.
package struct RowPlaces: Sendable, Hashable {
    /// One row of a bucket.
    package struct Place: Sendable, Hashable {
        /// The bucket, by its id in the state file.
        package let bucket: Int64
        /// The client's table, by its id in `output_type`.
        package let outputType: Int64
        /// The client's id.
        package let objectID: ExactText

        /// Makes a place.
        package init(bucket: Int64, outputType: Int64, objectID: String) {
            self.bucket = bucket
            self.outputType = outputType
            self.objectID = ExactText(objectID)
        }
    }

    /// A key of a lookup.
    package struct Lookup: Sendable, Hashable {
        /// The id in `lookup_definition`.
        package let definition: Int64
        /// The key, as `lookup` has it.
        package let key: [UInt8]

        /// Makes a lookup.
        package init(definition: Int64, key: [UInt8]) {
            self.definition = definition
            self.key = key
        }
    }

    /// Whether `large_value` has cells of the row.
    package var hasLargeValues: Bool
    /// The places, each once, in the order in which the row was evaluated.
    package var places: [Place]
    /// The lookups, each once.
    package var lookups: [Lookup]

    /// Whether the row is in no bucket, and nothing finds it.
    package var areNone: Bool { places.isEmpty && lookups.isEmpty }
    /// Whether there is nothing to be stored of the row.
    package var isEmpty: Bool { areNone && !hasLargeValues }

    /// Makes the places of a row.
    package init(hasLargeValues: Bool = false, places: [Place] = [], lookups: [Lookup] = []) {
        self.hasLargeValues = hasLargeValues
        self.places = places
        self.lookups = lookups
    }

    /// Reads what `bytes(of:)` wrote.
    ///
    /// - Parameters:
    ///   - stored: The bytes.
    ///   - key: The key of the row, which has the ids that are left out.
    /// - Throws: `StoreError` if they cannot be read.
    package init(stored: [UInt8], of key: RowKey) throws {
        self = try stored.withUnsafeBytes { buffer in
            var reader = PackedReader(buffer)
            return try RowPlaces(&reader, buffer, usual: try key.onlyText())
        }
    }

    private init(
        _ reader: inout PackedReader, _ bytes: UnsafeRawBufferPointer, usual: ExactText?
    ) throws(StoreError) {
        let flags = try reader.byte()
        guard flags <= 1 else { throw .unreadableRow }
        self.init(hasLargeValues: flags == 1)
        while !reader.isAtEnd {
            let head = try reader.varint()
            if head == 0 {
                guard !reader.isAtEnd else { throw .unreadableRow }
                break
            }
            let bucket = Int64(head >> 1)
            guard bucket > 0 else { throw .unreadableRow }
            let outputType = try reader.number()
            let objectID: String
            if head & 1 == 1 {
                let range = try reader.counted()
                objectID = String(decoding: bytes[range], as: UTF8.self)
            } else {
                guard let usual else { throw .unreadableRow }
                objectID = usual.text
            }
            places.append(Place(bucket: bucket, outputType: outputType, objectID: objectID))
        }
        while !reader.isAtEnd {
            let definition = try reader.number()
            let range = try reader.counted()
            lookups.append(Lookup(definition: definition, key: [UInt8](bytes[range])))
        }
    }

    /// Packs the places.
    ///
    /// - Parameter key: The key of the row: an id that is the text of its only column is left out.
    /// - Returns: A byte of flags; for each place its bucket with a bit that says whether its id follows, its output
    ///   type and the id; if there are lookups a 0, and for each its definition and its key.
    /// - Throws: `StoreError` if the key cannot be read.
    package func bytes(of key: RowKey) throws(StoreError) -> [UInt8] {
        let usual = try key.onlyText()
        var bytes: [UInt8] = [hasLargeValues ? 1 : 0]
        for place in places {
            precondition(place.bucket > 0, "buckets are numbered from 1")
            let isOwn = place.objectID != usual
            Varint.append(UInt64(place.bucket) << 1 | (isOwn ? 1 : 0), to: &bytes)
            Varint.append(place.outputType, to: &bytes)
            if isOwn {
                Varint.append(place.objectID.text.utf8.count, to: &bytes)
                bytes.append(contentsOf: place.objectID.text.utf8)
            }
        }
        if !lookups.isEmpty { bytes.append(0) }
        for lookup in lookups {
            Varint.append(lookup.definition, to: &bytes)
            Varint.append(lookup.key.count, to: &bytes)
            bytes.append(contentsOf: lookup.key)
        }
        return bytes
    }
}

/// Places of very many rows, which are packed from where they were evaluated.
extension RowPlaces {
    /// Whether operations are in a place of their own each, as far as that is said quickly.
    ///
    /// - Parameters:
    ///   - operations: The operations of a row.
    ///   - buckets: The ids of the buckets that they name by index.
    ///   - bytes: What their texts lie in.
    /// - Returns: False if two are in one place, or there are many.
    static func areDistinct(
        _ operations: ArraySlice<EvaluatedBatch.Operation>, in buckets: [Int64], _ bytes: [UInt8]
    ) -> Bool {
        guard operations.count > 1 else { return true }
        guard operations.count <= 16 else { return false }
        for (place, operation) in operations.enumerated() {
            for other in operations.prefix(place)
            where buckets[other.bucket] == buckets[operation.bucket] && other.type == operation.type
                && bytes[other.id].elementsEqual(bytes[operation.id])
            {
                return false
            }
        }
        return true
    }

    /// Appends what `bytes(of:)` makes of the places of operations.
    ///
    /// - Parameters:
    ///   - operations: The operations of a row, each in a place of its own.
    ///   - buckets: The ids of the buckets that they name by index.
    ///   - hasLargeValues: Whether `large_value` has cells of the row.
    ///   - key: Where the key of the row lies.
    ///   - bytes: What key and texts lie in.
    ///   - packed: What it is appended to.
    static func append(
        _ operations: ArraySlice<EvaluatedBatch.Operation>, in buckets: [Int64], hasLargeValues: Bool,
        of key: Range<Int>, _ bytes: [UInt8], to packed: inout [UInt8]
    ) {
        packed.append(hasLargeValues ? 1 : 0)
        for operation in operations {
            let bucket = buckets[operation.bucket]
            precondition(bucket > 0, "buckets are numbered from 1")
            let isOwn = !RowKey.isOnlyText(operation.id, of: key, in: bytes)
            Varint.append(UInt64(bucket) << 1 | (isOwn ? 1 : 0), to: &packed)
            Varint.append(operation.type, to: &packed)
            if isOwn {
                Varint.append(operation.id.count, to: &packed)
                packed.append(contentsOf: bytes[operation.id])
            }
        }
    }

    /// Appends what `bytes(of:)` makes of the keys by which a row is found, behind its places.
    ///
    /// - Parameters:
    ///   - lookups: The keys, each once.
    ///   - bytes: What they lie in.
    ///   - packed: What it is appended to.
    static func append(
        _ lookups: ArraySlice<EvaluatedBatch.Lookup>, _ bytes: [UInt8], to packed: inout [UInt8]
    ) {
        if !lookups.isEmpty { packed.append(0) }
        for lookup in lookups {
            Varint.append(lookup.definition, to: &packed)
            Varint.append(lookup.key.count, to: &packed)
            packed.append(contentsOf: bytes[lookup.key])
        }
    }
}
