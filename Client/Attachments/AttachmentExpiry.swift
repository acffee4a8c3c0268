/// Removes archived rows that are too many, and their files (client-api 4.8).
struct AttachmentExpiry: Sendable {
    /// What became of rows.
    struct Outcome: Sendable {
        /// How many stay because their files could not be removed.
        var failed = 0
        /// Why the first of them stays.
        var first: (any Error)?
        /// Whether there were no more.
        var isLast = false
    }

    let service: any AttachmentServiceProtocol
    let local: LocalFiles

    /// Removes all of them, page by page: others have access in between.
    ///
    /// - Parameter isUnwanted: whether nothing is to be done any more.
    /// - Returns: what became of them.
    /// - Throws: what the database throws, `CancellationError`.
    func run(unless isUnwanted: () -> Bool = { false }) async throws -> Outcome {
        var all = Outcome()
        while !all.isLast, !isUnwanted() {
            try Task.checkCancellation()
            let page = try await service.withContext { [local, failed = all.failed] in
                try await $0.expire(local, past: failed)
            }
            all.failed += page.failed
            all.first = all.first ?? page.first
            all.isLast = page.isLast
        }
        return all
    }
}

extension AttachmentContextProtocol {
    /// Removes a page of the archived rows that are too many, after their files; one that stays keeps no other.
    ///
    /// - Parameters:
    ///   - local: the files.
    ///   - failed: how many of them stay anyway.
    /// - Returns: what became of the page.
    /// - Throws: what the database throws.
    func expire(_ local: LocalFiles, past failed: Int = 0) async throws -> AttachmentExpiry.Outcome {
        let rows = rows
        let page = try await rows.overflow(
            keeping: max(0, maxArchivedCount) + Int64(failed), limit: Self.archivedPage)
        var outcome = AttachmentExpiry.Outcome(isLast: page.count < Self.archivedPage)
        // First: who sees a reference to one of them from now on, also in another process, does not take its file for here.
        let expiring = try await rows.takePaths(of: page)
        var gone: [String] = []
        var untried: [Attachment] = []
        for attachment in expiring {
            if Task.isCancelled {
                untried.append(attachment)
                continue
            }
            do {
                try await local.remove(attachment, rows, with: gone)
                gone.append(attachment.id)
            } catch {
                outcome.failed += 1
                outcome.first = outcome.first ?? error
            }
        }
        // Shielded: their files are gone.
        try await Task { [gone, untried] in
            try await rows.change(gone) { AttachmentRules.expired($0) }
            try await rows.returnPaths(of: untried)
        }.value
        return outcome
    }
}
