import PowerSyncWire

/// What answers about attachments mean: the one place where that is decided (Backend/Attachments/SPEC.md).
enum AttachmentAnswers {
    /// What a backend is asked.
    enum Question: CaseIterable {
        case uploadURL, parts, complete, downloadURL, delete
    }

    /// What an answer of a backend means.
    enum BackendMeaning: Hashable {
        /// It did what it was asked.
        case done
        /// It does not accept what authorises the request.
        case unauthorized
        /// It fails.
        case failure(AttachmentStorageError.Code)
    }

    /// What an answer of a backend to several questions at once means.
    enum BatchMeaning: Hashable {
        /// It has their answers.
        case done
        /// It fails, as it would have failed to answer each of them alone.
        case failure
        /// There are too many of them.
        case tooMany
        /// It knows no such request.
        case unknown
    }

    /// What a storage is asked.
    enum Transfer: CaseIterable {
        case whole, part, download
    }

    /// What an answer of a storage means.
    enum StorageMeaning: Hashable {
        /// It took the bytes, or brings them.
        case done
        /// Something is stored under the key already, and a key is bound to one SHA-256: the bytes are there.
        case stored
        /// It does not accept the signed URL, which may be late.
        case refusedURL
        /// It has no such range: what is there of the file is not of it.
        case badRange
        /// It fails.
        case failure(AttachmentStorageError.Code)
    }

    /// Returns what an answer of a backend means.
    ///
    /// - Parameters:
    ///   - status: its status.
    ///   - code: the code of the problem that it tells of, if it does.
    ///   - question: what was asked.
    /// - Returns: the meaning.
    static func meaning(of status: Int, _ code: String?, to question: Question) -> BackendMeaning {
        let has = { code == AttachmentProblem.code(of: $0) }
        switch status {
        case 200..<300: return .done
        case 401: return .unauthorized
        case 404 where has(AttachmentProblem.unknown): return .failure(.unknown)
        case 404 where has(AttachmentProblem.notUploaded): return .failure(.notUploaded)
        case 409 where has(AttachmentProblem.stillReferenced): return .failure(.stillReferenced)
        case 409 where has(AttachmentProblem.conflict): return .failure(.conflict)
        case 409 where has(AttachmentProblem.notStored): return .failure(.storage)
        case 410: return question == .delete ? .done : .failure(.gone)
        case 413: return .failure(.tooLarge)
        case 429 where has(AttachmentProblem.quota): return .failure(.quotaExceeded)
        case 408, 429, 500...: return .failure(.storage)
        default: return .failure(.refused)
        }
    }

    /// Returns what an answer of a backend to several questions at once means.
    ///
    /// - Parameters:
    ///   - status: its status.
    ///   - code: the code of the problem that it tells of, if it does.
    /// - Returns: the meaning.
    static func batchMeaning(of status: Int, _ code: String?) -> BatchMeaning {
        switch status {
        case 200..<300: .done
        case 413: .tooMany
        // Of one of the files, and others may be within it.
        case 429 where code == AttachmentProblem.code(of: AttachmentProblem.quota): .tooMany
        case 501: .unknown
        case 401, 408, 429, 500...: .failure
        default: .unknown
        }
    }

    /// Returns what an answer of a storage means.
    ///
    /// - Parameters:
    ///   - status: its status.
    ///   - transfer: what was asked.
    /// - Returns: the meaning.
    static func meaning(of status: Int, to transfer: Transfer) -> StorageMeaning {
        let isUpload = transfer != .download
        switch status {
        case 200, 206: return .done
        case 201..<300: return isUpload ? .done : .failure(.storage)
        // Other bytes than the checksum says, which was taken of the file.
        case 400: return .failure(isUpload ? .damaged : .refused)
        case 403: return .refusedURL
        case 412 where isUpload: return .stored
        case 413: return .failure(.tooLarge)
        case 416 where !isUpload: return .badRange
        // 404: the upload in parts, or the file, has gone meanwhile. 409: somebody else uploads the same file.
        case 404, 408, 409, 410, 429, 500...: return .failure(.storage)
        default: return .failure(.refused)
        }
    }
}
