package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"

	"heddle/internal/userfiles"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Wishes are an application's settings for its logs (YARN: LogAggregationContext). Patterns are regular expressions
// that match anywhere in a file's name. An empty one restricts nothing. The rolled ones select logs to upload while the
// application runs.
type Wishes struct {
	Include       string `json:"include,omitempty"`
	Exclude       string `json:"exclude,omitempty"`
	RolledInclude string `json:"rolledInclude,omitempty"`
	RolledExclude string `json:"rolledExclude,omitempty"`
	Policy        string `json:"policy,omitempty"` // class that replaces the node's
	Parameters    string `json:"parameters,omitempty"`
}

// WishesFrom reads the wire form. An unset field restricts nothing, whatever its default in the .proto file is.
func WishesFrom(m *pb.LogAggregationContext) Wishes {
	var w Wishes
	if m.HasIncludePattern() {
		w.Include = m.GetIncludePattern()
	}
	if m.HasExcludePattern() {
		w.Exclude = m.GetExcludePattern()
	}
	if m.HasRolledLogsIncludePattern() {
		w.RolledInclude = m.GetRolledLogsIncludePattern()
	}
	if m.HasRolledLogsExcludePattern() {
		w.RolledExclude = m.GetRolledLogsExcludePattern()
	}
	w.Policy = m.GetLogAggregationPolicyClassName()
	w.Parameters = m.GetLogAggregationPolicyParameters()
	return w
}

// filter selects files by name.
type filter struct{ include, exclude *regexp.Regexp }

// newFilter compiles patterns. A pattern that isn't supported (such as look-around) restricts nothing, because too many
// logs are better than none. The error names it.
func newFilter(include, exclude string) (filter, error) {
	var f filter
	var errs []error
	for _, p := range []struct {
		pattern string
		to      **regexp.Regexp
	}{{include, &f.include}, {exclude, &f.exclude}} {
		if p.pattern == "" {
			continue
		}
		re, err := regexp.Compile(p.pattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("pattern %q is ignored: %w", p.pattern, err))
			continue
		}
		*p.to = re
	}
	return f, errors.Join(errs...)
}

func (f filter) takes(name string) bool {
	return (f.include == nil || f.include.MatchString(name)) && (f.exclude == nil || !f.exclude.MatchString(name))
}

// logFile is a container's log on this node.
type logFile struct {
	dir     string // log directory of the file
	name    string
	size    int64
	modTime int64 // ms since 1970
}

// mark identifies a version of a file among those of the container. Two versions within a tick of the file system's
// clock, some milliseconds, differ in their sizes.
func (l logFile) mark() string { return fmt.Sprintf("%s_%d_%d", l.name, l.modTime, l.size) }

// Dirs returns the readable log directories (yarn.nodemanager.log-dirs).
type Dirs interface {
	Readable() []string
}

// list returns the logs of a container, directory by directory. Only regular files count, and no sub-directories. It
// omits some in a directory with more than userfiles.MostEntries.
func list(dirs Dirs, id records.ContainerID) ([]logFile, error) {
	var files []logFile
	var errs []error
	for _, dir := range slices.Sorted(slices.Values(dirs.Readable())) {
		infos, err := userfiles.ReadDir(dir, id.Attempt.App.String(), id.String())
		if errors.Is(err, fs.ErrNotExist) {
			continue // the container logged elsewhere, or the user removed the directory
		}
		if err != nil && !errors.Is(err, userfiles.ErrTooMany) { // some logs are better than none
			errs = append(errs, err)
			continue
		}
		for _, fi := range infos {
			if fi.Mode().IsRegular() {
				files = append(files, logFile{dir: dir, name: fi.Name(), size: fi.Size(), modTime: fi.ModTime().UnixMilli()})
			}
		}
	}
	if len(files) == 0 && len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return files, nil
}

// open opens a log of a container.
func (l logFile) open(id records.ContainerID, uid int) (*os.File, error) {
	return userfiles.Open(l.dir, uid, id.Attempt.App.String(), id.String(), l.name)
}
