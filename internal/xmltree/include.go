package xmltree

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

const (
	includeElement  = "include"
	fallbackElement = "fallback"

	maxIncludeDepth = 16  // files within files
	maxIncludes     = 256 // files in all
)

// resolveIncludes replaces every <xi:include href="…"/> below e by the outermost element of that file. If the file
// doesn't exist, the contents of its <xi:fallback> take its place. Like Hadoop it looks only at the name of the
// element, not at its namespace.
func (r *reader) resolveIncludes(e *Element, chain []string) error {
	for i := 0; i < len(e.Children); i++ {
		child := e.Children[i]
		if child.Name != includeElement {
			if err := r.resolveIncludes(child, chain); err != nil {
				return err
			}
			continue
		}
		with, err := r.include(child, chain)
		if err != nil {
			return err
		}
		e.Children = slices.Replace(e.Children, i, i+1, with...)
		if len(with) == 0 {
			e.own[i] = append(e.own[i], e.own[i+1]...)
			e.own = slices.Delete(e.own, i+1, i+2)
		} else {
			e.own = slices.Insert(e.own, i+1, make([][]byte, len(with)-1)...)
		}
		i += len(with) - 1
	}
	return nil
}

// include returns the replacement of an include element. It also resolves the includes in that.
func (r *reader) include(e *Element, chain []string) ([]*Element, error) {
	bad := func(format string, args ...any) error {
		return &SyntaxError{e.Source, fmt.Sprintf(format, args...)}
	}
	href := trim(e.Attrs["href"])
	if href == "" {
		return nil, bad("<xi:include> names no file: it needs an href")
	}
	path, err := includePath(href, chain[len(chain)-1])
	if err != nil {
		return nil, bad("<xi:include href=%q>: %v", href, err)
	}
	if slices.Contains(chain, path) {
		return nil, bad("a file includes itself: %s", strings.Join(append(slices.Clone(chain), path), " → "))
	}
	if len(chain) > maxIncludeDepth {
		return nil, bad("files include files more than %d deep: %s", maxIncludeDepth, strings.Join(chain, " → "))
	}
	if r.includes++; r.includes > maxIncludes {
		return nil, bad("more than %d files are included", maxIncludes)
	}
	root, err := r.file(path, slices.Clip(chain))
	if err == nil {
		return []*Element{root}, nil
	}
	var se *SyntaxError
	if errors.As(err, &se) || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, child := range e.Children {
		if child.Name == fallbackElement {
			if err := r.resolveIncludes(child, chain); err != nil {
				return nil, err
			}
			return child.Children, nil
		}
	}
	return nil, bad("<xi:include href=%q>: %s does not exist, and there is no <xi:fallback>", href, path)
}

// includePath returns the file name in an href, which is relative to the folder of the including file.
func includePath(href, from string) (string, error) {
	if u, err := url.Parse(href); err == nil && u.Scheme != "" {
		if u.Scheme != "file" {
			return "", errors.New("only files can be included")
		}
		if !filepath.IsAbs(u.Path) {
			return "", errors.New("a file: URL needs an absolute path")
		}
		return filepath.Clean(u.Path), nil
	}
	if filepath.IsAbs(href) {
		return filepath.Clean(href), nil
	}
	return filepath.Join(filepath.Dir(from), filepath.FromSlash(href)), nil
}
