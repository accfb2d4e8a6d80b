package request

import (
	"slices"
	"strings"
	"unicode/utf8"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/issued"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// CheckID refuses an application id that a user may not submit under. known says that the user has done so already.
func CheckID(s *ledger.State, id records.ApplicationID, user string) (known bool, err error) {
	if app := s.Apps[id]; app != nil {
		if app.User != user {
			return false, refusal.New(refusal.AccessDenied, "User %s cannot submit %v, as another user has submitted an application with that id. Ask for a new one", user, id)
		}
		return true, nil
	}
	standing, owner := issued.None, ""
	switch {
	case id.ClusterTimestamp != s.Timestamp || id.ID > s.LastApplication:
		standing = issued.Unowned // YARN admits it, and its containers have ids that no others had
	case s.Version < ledger.OwnerVersion:
		standing = issued.Unowned
	default:
		standing, owner = s.Issued.To(id.ID, s.LastApplication)
	}
	switch {
	case standing == issued.None:
		return false, refusal.New(refusal.Refused, "%v can't be submitted: an application had that id and was forgotten since, or the id was issued very long ago. Ask for a new one", id)
	case standing == issued.Owned && owner != user:
		return false, refusal.New(refusal.AccessDenied, "User %s cannot submit %v, as that id was issued to another user. Ask for a new one", user, id)
	}
	return false, nil
}

// CheckTags refuses tags that are too many or too long; 0 is no limit. It has the words of Hadoop's ApplicationSubmissionContext, to which tags are a set: the same one again doesn't count.
func CheckTags(tags []string, most, length int) error {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	if most > 0 && len(tags) > most {
		return refusal.New(refusal.InvalidTag, "Too many applicationTags, a maximum of only %d are allowed!", most)
	}
	for _, tag := range tags {
		if length > 0 && utf8.RuneCountInString(tag) > length {
			return refusal.New(refusal.InvalidTag, "Tag %s is too long, maximum allowed length of a tag is %d", tag, length)
		}
		if strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }) { // Hadoop refuses control characters in these words, too
			return refusal.New(refusal.InvalidTag, "A tag can only have ASCII characters! Invalid tag - %s", tag)
		}
	}
	return nil
}

// Expiry returns the end of a lifetime of at least 0 seconds that begins at a time, in ms since 1970. Lifetimes that are too long end as late as a date can be.
func Expiry(begin, seconds int64) int64 {
	return records.Resource{begin}.Add(records.Resource{seconds}.Times(1000))[0]
}

// Lifetime returns how long an application may live that asks for some time, in seconds; values that aren't above 0 mean no limit.
func Lifetime(tree *queue.Tree, path string, asked []*pb.ApplicationTimeoutMap) (life int64, err error) {
	for _, to := range asked {
		if to.GetApplicationTimeoutType() != pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME {
			continue
		}
		if life = to.GetTimeout(); life <= 0 {
			return 0, refusal.New(refusal.Refused, "Invalid application timeout, value=%d for type=LIFETIME", life)
		}
	}
	if q, ok := tree.Find(path); ok {
		return q.Lifetime(life), nil
	}
	return life, nil
}

// MaxAttempts returns how many attempts an application gets that asks for some: usual if it doesn't, and at most so many.
func MaxAttempts(asked, usual, most int32) int32 {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}
