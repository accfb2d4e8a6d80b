package placement

import (
	"errors"
	"slices"
	"strings"

	"heddle/rm/queue"
)

// Tags are the settings of placement by tags: an application of one of the Users, such as a service that works for others, goes to the queue of the
// user that its tag userid=NAME names. It stays the submitter's application otherwise (Hadoop: RMAppManager.getUserNameForPlacement).
type Tags struct {
	Users    []string // none: switched off
	KeepCase bool     // else names in tags are read in lower case
}

// userTag begins the tag that names a user.
const userTag = "userid="

// named returns the user that an application's tags name, "" if they name none.
func (t *Tags) named(tags []string) string {
	for _, tag := range tags {
		if !t.KeepCase {
			tag = strings.ToLower(tag)
		}
		if name, ok := strings.CutPrefix(tag, userTag); ok && name != "" && !strings.Contains(name, "=") {
			return name
		}
	}
	return ""
}

// placedAs returns the user that an application is placed for: the one that its tags name, if the submitter may do that and may submit to that
// user's queue, else the submitter.
func (p *Placement) placedAs(app queue.App, tags []string) (string, error) {
	by := &p.cfg.Tags
	if !slices.Contains(by.Users, app.User) {
		return app.User, nil
	}
	named := app
	if named.User = by.named(tags); named.User == "" {
		return app.User, nil
	}
	path, err := p.cfg.Live.Tree().Place(named, p.cfg.Groups)
	var refused *queue.Refusal
	switch {
	case errors.As(err, &refused) && refused.Fails:
		return app.User, nil
	case err != nil:
		return "", err
	case p.cfg.MaySubmit != nil && !p.cfg.MaySubmit(app.User, path):
		return app.User, nil
	}
	return named.User, nil
}
