package request

import (
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
)

// CheckSize refuses a submission whose context has too many bytes: more than the setting says (0: no limit), or than the log can hold.
func CheckSize(id records.ApplicationID, size, setting int) error {
	most := limit.MaxCommand - 4*limit.MaxName
	if setting > 0 {
		most = min(most, setting)
	}
	if size > most {
		return refusal.New(refusal.Refused, "%v can't be submitted: its submission context has %d bytes, and may have %d. Put large content into files "+
			"(local resources), or have the ResourceManager's administrator raise heddle.submission.max-bytes", id, size, most)
	}
	return nil
}

// Takes is what the context of a submission takes: its size in the log, and in the memory of each ResourceManager, in bytes.
type Takes struct {
	Size   int
	Memory int64
}

// Fit refuses an application for which the ledger's bounds or the disk of the log have no room. Everything else that is entered is small, or
// has a bound of its own.
func (x Takes) Fit(s *ledger.State, b limit.Bounds, disk limit.Disk, id records.ApplicationID, user string) error {
	own, all := s.Kept.Live(user)
	switch {
	case disk == limit.DiskFull:
		return refusal.New(refusal.NoSpace, "%v can't be submitted now: the file system of the ResourceManager's state folder is almost full. "+
			"Try again when the administrator has made room there (heddle.raft.min-free-mb)", id)
	case disk == limit.DiskLow && x.Size > limit.LargeContext:
		return refusal.New(refusal.NoSpace, "%v can't be submitted now: its submission context has %d bytes, and the file system of the ResourceManager's state folder has "+
			"little space left. Try again later, or put large content into files (local resources): contexts of at most %d bytes are still taken. "+
			"The administrator can make room there (heddle.raft.min-free-mb)", id, x.Size, limit.LargeContext)
	case limit.Over(b.UserBytes, own+x.Memory):
		return refusal.New(refusal.Refused, "%v can't be submitted: the applications of user %s that have not ended take %d MB of the ResourceManagers' memory, and may take %d MB. "+
			"Wait until some have ended, kill some, or put large content into files (local resources); the administrator can raise heddle.applications.max-user-percent",
			id, user, own>>20, b.UserBytes>>20)
	case limit.Over(b.LiveBytes, all+x.Memory):
		return refusal.New(refusal.Refused, "%v of user %s can't be submitted: all applications that have not ended take %d MB of the ResourceManagers' memory, and may take %d MB. "+
			"Try again when some have ended; the administrator can raise heddle.applications.max-mb", id, user, all>>20, b.LiveBytes>>20)
	}
	return nil
}
