import PowerSyncSyncRules
import PowerSyncWire

/// Makes records, keys and checksums of a batch's rows: cells → slots → programs → text.
///
/// It knows nothing of the store, so batches are evaluated beside each other, and beside the writing.
package struct RowEvaluation: ~Copyable {
    /// The batch without its bytes, which are the beginning of the arena.
    private var batch: ChangeBatch
    private let converter: SlotConverter
    private let limits: StoreLimits
    private var hasher = OperationHasher()
    private var identity = RowIdentity()
    private var run = RowProgramRun()
    private var names = BucketNames()
    private var result = EvaluatedBatch()

    /// The bytes of the batch, behind them those of constants, and from `floor` on what the row has that was converted.
    private var arena: [UInt8]
    private let byteCount: Int
    private let floor: Int
    /// Where the constants of each table's programs begin in the arena.
    private let texts: [Int]
    /// The values of the row that is evaluated.
    private var slots: [Slot] = []
    /// The outputs that were made last, by their numbers in the table.
    private var outputs: [Output] = []
    private var objectID: [UInt8] = []
    private var warnings: [String] = []
    /// What the row comes to that is evaluated.
    private var rowSize = RowSize()
    /// How many bytes the length of the data took that was written last.
    private var dataRoom = 2
    /// Whether the store may need the changes themselves.
    private var isSourceNeeded: Bool

    /// An output, whatever bucket it is for.
    private struct Output {
        /// The index of the row that it is of; -1 for none.
        var row = -1
        /// Where the client's id lies.
        var id = 0..<0
        /// Where the record lies.
        var record = 0..<0
        /// Its share of a bucket's checksum.
        var checksum = Checksum.zero
    }

    /// How much one row comes to: each element of its arrays is a place of its own, in each stream.
    private struct RowSize {
        var places = 0
        var operationBytes = 0
        var nameBytes = 0
    }

    private init(_ batch: ChangeBatch, _ converter: SlotConverter, _ limits: StoreLimits) {
        var batch = batch
        // They leave the batch, so that others are appended to them where they are.
        var arena = batch.bytes
        batch.bytes = []
        byteCount = arena.count
        var texts: [Int] = []
        for plan in batch.tables {
            texts.append(arena.count)
            // Nothing added would copy bytes that somebody else has, too.
            if !plan.texts.isEmpty { arena += plan.texts }
        }
        floor = arena.count
        isSourceNeeded = batch.mayBeIncomplete
        let isEmpty = batch.changes.isEmpty
        self.batch = batch
        self.converter = converter
        self.limits = limits
        self.arena = arena
        self.texts = texts
        // The data text is about as long, and large values are kept beside it.
        if !isEmpty { result.bytes.reserveCapacity(2 * byteCount) }
    }

    /// Evaluates a batch; lets others run now and then.
    ///
    /// - Parameters:
    ///   - batch: The changes; who hands over the last reference to them saves a copy.
    ///   - converter: What values are converted with.
    ///   - limits: How large rows may be, and after how many others run.
    /// - Returns: What they come to.
    /// - Throws: `CancellationError`.
    package static func evaluate(
        _ batch: consuming ChangeBatch, _ converter: SlotConverter, limits: StoreLimits = StoreLimits()
    ) async throws -> EvaluatedBatch {
        let count = batch.changes.count
        var evaluation = RowEvaluation(batch, converter, limits)
        for index in 0..<count {
            if index > 0, index.isMultiple(of: limits.evaluatedRows) {
                try Task.checkCancellation()
                await Task.yield()
            }
            evaluation.evaluateChange(index)
        }
        return evaluation.finish()
    }

    /// Evaluates a batch at once: a short one, and one of a row whose missing values were filled in.
    ///
    /// - Parameters:
    ///   - batch: The changes; who hands over the last reference to them saves a copy.
    ///   - converter: What values are converted with.
    ///   - limits: How large rows may be.
    /// - Returns: What they come to.
    package static func evaluateAtOnce(
        _ batch: consuming ChangeBatch, _ converter: SlotConverter, limits: StoreLimits = StoreLimits()
    ) -> EvaluatedBatch {
        let count = batch.changes.count
        var evaluation = RowEvaluation(batch, converter, limits)
        for index in 0..<count { evaluation.evaluateChange(index) }
        return evaluation.finish()
    }

    private mutating func finish() -> EvaluatedBatch {
        var done = result
        result = EvaluatedBatch()
        done.buckets = names.ranges
        done.marks = batch.marks
        done.tables = batch.tables
        done.isAhead = batch.isAhead
        guard isSourceNeeded else { return done }
        arena.removeLast(arena.count - byteCount)
        batch.bytes = arena
        arena = []
        done.source = batch
        return done
    }

    private mutating func evaluateChange(_ index: Int) {
        let change = batch.changes[index]
        let plan = batch.tables[change.table]
        arena.removeLast(arena.count - floor)
        warnings.removeAll(keepingCapacity: true)
        let operations = result.operations.count
        var row = EvaluatedBatch.Row(
            kind: change.kind, table: change.table, operations: operations..<operations)
        if change.old >= 0 {
            convert(from: change.old, in: plan, identityAlone: true)
            row.oldKey = identity.append(plan, slots, in: arena, isIDNeeded: false, to: &result.bytes)
        }
        if change.new >= 0 {
            evaluate(change, plan, &row)
            // Most updates that tell the old row leave its key as it is.
            if let key = row.key, let old = row.oldKey, result.bytes[key].elementsEqual(result.bytes[old]) {
                row.oldKey = nil
            }
        }
        result.rows.append(row)
    }

    /// Evaluates the row as it is now.
    private mutating func evaluate(
        _ change: ChangeBatch.Change, _ plan: TablePlan, _ row: inout EvaluatedBatch.Row
    ) {
        var size = 0
        for column in plan.conversions.indices { size += length(column, of: change, plan) }
        row.isTooLarge = size > limits.rowBytes
        row.hasMissingValues = convert(
            from: change.new, old: change.old, in: plan, identityAlone: row.isTooLarge)
        row.key = identity.append(plan, slots, in: arena, isIDNeeded: true, to: &result.bytes)
        guard !row.isTooLarge else {
            if plan.keepsLargeValues { row.large = largeLengths(change, plan) }
            result.warnings.add(
                "[PSYNC_S1002] A row of \(plan.table.qualifiedName) is larger than 15 MiB and is not synced.")
            return
        }
        let (operations, lookups) = (row.operations.lowerBound, result.lookups.count)
        rowSize = RowSize()
        let writeCheckpoints = result.writeCheckpoints.count
        guard runPrograms(of: change.table, plan), runLookups(of: change.table, plan),
            runWriteCheckpoints(of: change.table, plan)
        else {
            // What was said of its operations is said again once its values are there.
            result.operations.removeLast(result.operations.count - operations)
            result.lookups.removeLast(result.lookups.count - lookups)
            result.writeCheckpoints.removeLast(result.writeCheckpoints.count - writeCheckpoints)
            result.waiting.append(result.rows.count)
            isSourceNeeded = true
            return
        }
        for warning in warnings { result.warnings.add(warning) }
        row.operations = operations..<result.operations.count
        row.lookups = lookups..<result.lookups.count
        row.writeCheckpoints = writeCheckpoints..<result.writeCheckpoints.count
        if row.hasMissingValues { isSourceNeeded = true }
        guard plan.keepsLargeValues, !row.hasMissingValues else { return }
        row.large = largeCells(change, plan, isStored: row.isStored)
        // If some are kept already, these are, too; a snapshot changes no row that is known.
        if row.large == nil, change.kind == .update || (row.isStored && change.kind != .snapshot) {
            isSourceNeeded = true
        }
    }

    /// Runs all programs of a table over the slots.
    ///
    /// - Returns: False if one of them needs a value that was left out.
    private mutating func runPrograms(of table: Int, _ plan: TablePlan) -> Bool {
        if outputs.count < plan.outputGroupCount {
            outputs += Array(repeating: Output(), count: plan.outputGroupCount - outputs.count)
        }
        for index in plan.programs.indices {
            let (operations, end) = (result.operations.count, arena.count)
            let former = rowSize
            do throws(EvaluationError) {
                guard try runProgram(index, plan, texts: texts[table] + plan.textOffsets[index]) else {
                    return false
                }
            } catch {
                // An expression without a value matches nothing of that query; the others go on (service 4.6).
                result.operations.removeLast(result.operations.count - operations)
                rowSize = former
                warnings.append(
                    "A query of \(plan.sourceNames[index]) has no value for a row of "
                        + "\(plan.table.qualifiedName), which is not in its buckets: \(error.summary)")
            }
            // What the program has made is in its records.
            arena.removeLast(arena.count - end)
        }
        return true
    }

    /// Runs all programs of a table that find rows over the slots.
    ///
    /// - Returns: False if one of them needs a value that was left out.
    private mutating func runLookups(of table: Int, _ plan: TablePlan) -> Bool {
        for index in plan.lookups.indices {
            let end = arena.count
            do throws(EvaluationError) {
                let entries = try run.entries(
                    of: plan.lookups[index], slots, in: &arena,
                    texts: texts[table] + plan.lookupTextOffsets[index])
                guard let entries else { return false }
                try add(entries, of: plan.definitions[index])
            } catch {
                warnings.append(
                    "The lookup \(plan.lookupNames[index]) has no value for a row of "
                        + "\(plan.table.qualifiedName), which it does not find: \(error.summary)")
            }
            // What the program has made is in keys and values.
            arena.removeLast(arena.count - end)
        }
        return true
    }

    /// Runs all programs of a table that set write checkpoints over the slots.
    ///
    /// - Returns: False if one of them needs a value that was left out.
    private mutating func runWriteCheckpoints(of table: Int, _ plan: TablePlan) -> Bool {
        for index in plan.writeCheckpoints.indices {
            let end = arena.count
            do throws(EvaluationError) {
                let entries = try run.entries(
                    of: plan.writeCheckpoints[index], slots, in: &arena,
                    texts: texts[table] + plan.writeCheckpointTextOffsets[index])
                guard let entries else { return false }
                for entry in entries {
                    result.writeCheckpoints.append(
                        try CustomWriteCheckpoint(
                            user: entry.outputs[0].scalar(in: arena),
                            client: entry.outputs[1].scalar(in: arena),
                            id: entry.outputs[2].scalar(in: arena)))
                }
            } catch {
                warnings.append(
                    "A row of \(plan.table.qualifiedName) sets no write checkpoint: \(error.message)")
            }
            arena.removeLast(arena.count - end)
        }
        return true
    }

    /// Holds what one program makes of a row to as much as it may compute for it: an array of a row, and each of its elements
    /// with all of the row, is a product.
    private func checkSize(_ count: Int) throws(EvaluationError) {
        guard count <= RowProgramRun.byteLimit else {
            throw EvaluationError(message: "What is made of one row is longer than 64 MiB.")
        }
    }

    /// Adds what a definition finds of the row, each key once.
    private mutating func add(_ entries: [LookupEntry], of definition: Int64) throws(EvaluationError) {
        var places: [[UInt8]: Int] = [:]
        var found: [(key: [UInt8], rows: [[Slot]])] = []
        var size = 0
        for entry in entries {
            var key: [UInt8] = []
            guard LookupValues.appendKey(entry.key, in: arena, to: &key) else { continue }
            size += entry.outputs.reduce(key.count) { $0 + ($1.isText ? $1.range.count : 1) }
            try checkSize(size)
            let place = places[key] ?? found.count
            if place == found.count {
                places[key] = place
                found.append((key: key, rows: []))
            }
            found[place].rows.append(entry.outputs)
        }
        for (key, rows) in found {
            let start = result.bytes.count
            result.bytes += key
            let end = result.bytes.count
            LookupValues.append(rows: rows, in: arena, to: &result.bytes)
            result.lookups.append(
                EvaluatedBatch.Lookup(
                    definition: definition, key: start..<end, value: end..<result.bytes.count))
        }
    }

    /// Adds a PUT for each place that a program has for the row.
    ///
    /// - Returns: False if it needs a value that was left out.
    private mutating func runProgram(
        _ index: Int, _ plan: TablePlan, texts: Int
    ) throws(EvaluationError) -> Bool {
        var outcome = try run.start(plan.programs[index].code, slots, in: &arena, texts: texts)
        guard outcome == .inside else { return outcome == .outside }
        let program = plan.programs[index]
        let start = result.bytes.count
        repeat {
            if let group = program.outputGroup {
                if outputs[group].row != result.rows.count {
                    outcome = try run.output(program, slots, in: &arena, texts: texts)
                    guard outcome == .inside else { return false }
                    outputs[group] = output(of: program, index, plan)
                }
                addOperation(outputs[group], of: program, index, plan)
            } else {
                outcome = try run.output(program, slots, in: &arena, texts: texts)
                guard outcome == .inside else { return false }
                let output = output(of: program, index, plan)
                addOperation(output, of: program, index, plan)
            }
            try checkRowSize()
            try checkSize(result.bytes.count - start)
            outcome = try run.next(program.code, slots, in: &arena, texts: texts)
        } while outcome == .inside
        return outcome == .outside
    }

    /// Holds what all programs make of one row to what a row may come to.
    private func checkRowSize() throws(EvaluationError) {
        if rowSize.places > limits.rowPlaces {
            throw EvaluationError(message: "The row would be in more than \(limits.rowPlaces) places.")
        }
        if rowSize.operationBytes > limits.rowOperationBytes {
            throw EvaluationError(
                message: "The operations of the row would have more than \(limits.rowOperationBytes) bytes.")
        }
        if rowSize.nameBytes > limits.rowNameBytes {
            throw EvaluationError(
                message: "The names of its buckets would have more than \(limits.rowNameBytes) bytes.")
        }
    }

    /// Adds the PUT of a program into the bucket of the place that was found last.
    private mutating func addOperation(
        _ output: Output, of program: RowProgram, _ index: Int, _ plan: TablePlan
    ) {
        let name = result.bytes.count
        result.bytes.append(contentsOf: plan.bucketNames[index])
        for key in program.keys.indices {
            if key > 0 { result.bytes.append(UInt8(ascii: ",")) }
            RowTextWriter.appendKey(run.key(program.keys[key]), in: arena, to: &result.bytes)
        }
        result.bytes.append(UInt8(ascii: "]"))
        let nameCount = result.bytes.count - name
        rowSize.places += 1
        rowSize.nameBytes += nameCount
        rowSize.operationBytes += output.record.count + nameCount
        let bucket = names.index(ofNameFrom: name, in: &result.bytes)
        result.operations.append(
            EvaluatedBatch.Operation(
                bucket: bucket, type: plan.types[index], id: output.id, record: output.record,
                checksum: output.checksum))
    }

    /// Makes the record of an output that was computed; its data is written where it stays.
    private mutating func output(of program: RowProgram, _ index: Int, _ plan: TablePlan) -> Output {
        objectID.removeAll(keepingCapacity: true)
        RowTextWriter.appendID(program, run, slots, in: arena, to: &objectID)
        let put = OperationRecord.beginPut(
            sourceTable: plan.table.id, outputType: plan.types[index], replicaID: identity.replicaID,
            objectID: objectID, room: dataRoom, to: &result.bytes)
        RowTextWriter.appendData(program, run, slots, in: arena, to: &result.bytes)
        let data = OperationRecord.endPut(put, in: &result.bytes)
        dataRoom = data.lowerBound - put.objectID.upperBound
        let checksum = hasher.put(
            type: plan.typeNames[index], id: put.objectID, data: data, in: result.bytes)
        OperationRecord.set(checksum, at: put.start, in: &result.bytes)
        return Output(
            row: result.rows.count, id: put.objectID, record: put.start..<result.bytes.count,
            checksum: checksum)
    }

    /// Makes slots of cells; a value that does not fit its type is the text of Postgres (service 6.13).
    ///
    /// - Parameters:
    ///   - first: The first cell of the row.
    ///   - old: The first cell of the row as it was, which has what the new one leaves out; -1 for none.
    ///   - plan: The table.
    ///   - identityAlone: Whether only the columns that identify the row are converted.
    /// - Returns: Whether a cell was left out.
    @discardableResult
    private mutating func convert(
        from first: Int, old: Int = -1, in plan: TablePlan, identityAlone: Bool
    ) -> Bool {
        let count = plan.conversions.count
        if slots.count < count { slots += Array(repeating: Slot.null, count: count - slots.count) }
        var isMissing = false
        for column in 0..<count {
            var cell = batch.cells[first + column]
            if cell == .unchanged {
                // Of identity FULL the old row has all values.
                if old >= 0, batch.cells[old + column].range != nil {
                    cell = batch.cells[old + column]
                } else {
                    isMissing = true
                }
            }
            guard identityAlone ? plan.isIdentity[column] : plan.isConverted[column] else { continue }
            guard let range = cell.range else {
                slots[column] = cell == .unchanged ? .missing : .null
                continue
            }
            do throws(ConversionError) {
                slots[column] = try converter.slot(range, column: column, of: plan, in: &arena)
            } catch {
                // A row without this value would be a row less on every device.
                slots[column] = Slot(text: range)
                // Of the key alone it is said with the row.
                guard !identityAlone else { continue }
                warnings.append(
                    "The column \(plan.table.description.columns[column].name) of "
                        + "\(plan.table.qualifiedName) is synced as Postgres spells it: \(error.message)")
            }
        }
        return isMissing
    }

    /// Appends the cells that an update may leave out, if their texts are a reason to keep them.
    ///
    /// Postgres takes values out of rows of more than about 2 KB, unless a table asks for less. One that is missing all
    /// the same is read again from the source, and known from then on: also of a row that is in no bucket, since a query
    /// needed the value to say so.
    private mutating func largeCells(
        _ change: ChangeBatch.Change, _ plan: TablePlan, isStored: Bool
    ) -> Range<Int>? {
        if change.kind != .readAgain, limits.largeValueBytes >= 0 {
            guard isStored else { return nil }
            var size = 0
            for column in plan.table.largeColumns { size += text(column, of: change)?.count ?? 0 }
            guard size > limits.largeValueBytes else { return nil }
        }
        let start = result.bytes.count
        for column in plan.table.largeColumns {
            if let range = text(column, of: change) {
                LargeCells.append(arena[range], to: &result.bytes)
            } else {
                LargeCells.appendNull(to: &result.bytes)
            }
        }
        return start..<result.bytes.count
    }

    /// Appends how long the values are that an update may leave out of a row that is too large: until one of them is told,
    /// it is so.
    private mutating func largeLengths(_ change: ChangeBatch.Change, _ plan: TablePlan) -> Range<Int> {
        let start = result.bytes.count
        for column in plan.table.largeColumns {
            Varint.append(length(column, of: change, plan), to: &result.bytes)
        }
        return start..<result.bytes.count
    }

    /// How many bytes the text of a column has, at least: of one that was left out as many as are known.
    private func length(_ column: Int, of change: ChangeBatch.Change, _ plan: TablePlan) -> Int {
        let cell = batch.now(column, of: change)
        if let range = cell.range { return range.count }
        guard cell == .unchanged, let lengths = batch.lengths,
            let place = plan.table.largeColumns.firstIndex(of: column)
        else { return 0 }
        return lengths[place]
    }

    /// Where the text of a column lies; the old row's if the new one leaves it out.
    private func text(_ column: Int, of change: ChangeBatch.Change) -> Range<Int>? {
        batch.now(column, of: change).range
    }
}

extension Slot {
    /// Whether it has bytes in the arena.
    fileprivate var isText: Bool {
        switch kind {
        case .text, .blob, .wide: true
        case .null, .integer, .real, .missing: false
        }
    }
}
