/// What makes a run look for something to do.
extension TransferRun {
    private func watch(_ name: String) -> PersistentWatch {
        PersistentWatch(
            name: name, environment: environment, logger: parts.logger, tag: LogTag.attachmentSync)
    }

    /// Has lanes look for rows whenever rows have changed.
    func followRows() async {
        let watch = watch("the rows of attachments")
        let service = parts.service
        guard let own = service as? AttachmentService else {
            await watch.follow {
                try await service.watchActiveAttachments()
            } take: { (_: [String]) in
                change { $0.rowsChanged() }
                return true
            }
            return
        }
        await watch.follow {
            try own.watchChanges()
        } take: { (_: [Int]) in
            change { $0.rowsChanged() }
            return true
        }
    }

    /// Counts what waits whenever rows have changed.
    func followCounts() async {
        let (service, progress) = (parts.service, parts.progress)
        await watch("the number of waiting attachments").follow {
            let (db, sql) = try await service.withContext { ($0.db, $0.rows.sql) }
            let throttle = AttachmentProgress.countInterval / .seconds(1)
            return try db.watch(
                options: WatchOptions(sql: sql.changes, throttle: throttle) { try $0.getInt(index: 0) })
        } take: { (_: [Int]) in
            // While no transfer is between its row and what is shown of it.
            try await service.withContext { progress.count(try await $0.rows.waiting()) }
            return true
        }
    }

    /// Waits for the upload queue to be empty, whenever a row waits for that.
    func followQueue() async {
        let service = parts.service
        // Only cancellation ends the wait.
        while (try? await waitsForQueue.wait { $0 }) != nil {
            let isEmpty = await watch("the upload queue").follow {
                let db = try await service.withContext { $0.db }
                return try db.watch(AttachmentSQL.hasQueuedWrites) { try $0.getBoolean(index: 0) }
            } take: { (found: [Bool]) in
                if found.first == true { return true }
                change { $0.queueEmptied() }
                return false
            }
            // Closed with the database: nothing changes any more.
            guard isEmpty else { return }
        }
    }

    /// Asks for a full pass in each period.
    func repeatPasses(each period: Duration) async {
        // Only cancellation ends the wait.
        while (try? await environment.sleep(period)) != nil { askForPass() }
    }
}
