package hdfsadapter

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"heddle/hdfsadapter/glob"
)

// Glob returns the files and directories that match a pattern, sorted by path. It returns nil if none match. Patterns
// are Hadoop's (GlobPattern, GlobExpander): * and ? match within one component of a path, [a-z], [^a-z] and [!a-z] one
// character, {a,b/c} alternatives. A backslash removes the meaning of the next character. Scheme and host can't be
// patterns.
func (f *FS) Glob(ctx context.Context, pattern string) ([]Info, error) {
	scheme, authority, rest, err := split(pattern)
	if err != nil {
		return nil, &fs.PathError{Op: "glob", Path: pattern, Err: err}
	}
	prefix := ""
	if scheme != "" {
		prefix = scheme + ":"
	}
	if authority != "" {
		prefix += "//" + authority
	}
	alternatives, err := glob.Expand(rest)
	if err != nil {
		return nil, &fs.PathError{Op: "glob", Path: pattern, Err: err}
	}
	found := map[string]Info{}
	for _, alt := range alternatives {
		// Locate completes relative patterns like names. The special characters of patterns mean nothing to it.
		at, err := f.Locate(prefix + alt)
		if err != nil {
			return nil, &fs.PathError{Op: "glob", Path: pattern, Err: err}
		}
		infos, err := f.globParts(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, i := range infos {
			found[i.Path] = i
		}
	}
	out := make([]Info, 0, len(found))
	for _, i := range found {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// globParts matches a pattern component by component.
func (f *FS) globParts(ctx context.Context, pattern Location) ([]Info, error) {
	bad := func(err error) error { return &fs.PathError{Op: "glob", Path: pattern.String(), Err: err} }
	root := pattern
	root.Path = "/"
	dirs := []Location{root}
	parts := strings.FieldsFunc(pattern.Path, func(r rune) bool { return r == '/' })
	for n, part := range parts {
		match, literal, err := glob.Compile(part)
		if err != nil {
			return nil, bad(err)
		}
		var next []Location
		for _, dir := range dirs {
			if match == nil {
				next = append(next, dir.join(literal))
				continue
			}
			entries, err := f.List(ctx, dir.String())
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if match.MatchString(e.Name) && (n == len(parts)-1 || e.IsDir()) {
					next = append(next, dir.join(e.Name))
				}
			}
		}
		dirs = next
	}
	var out []Info
	for _, at := range dirs {
		i, err := f.Stat(ctx, at.String())
		switch {
		case err == nil:
			out = append(out, i)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			// The directory doesn't exist, or not any longer.
		default:
			return nil, err
		}
	}
	return out, nil
}
