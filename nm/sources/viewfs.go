package sources

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/nm/localizer"
)

// ViewFS leads to other file systems by the links of a mount table (fs.viewfs.mounttable.<name>.link.<folder>).
type ViewFS struct {
	Conf  *conf.Config
	Below localizer.Source
}

// to returns where a location leads.
func (v ViewFS) to(at localizer.Location) (localizer.Location, error) {
	table := at.Host
	if table == "" {
		name, _ := v.Conf.Get("fs.viewfs.mounttable.default.name.key")
		table = cmp.Or(name, "default")
	}
	prefix := "fs.viewfs.mounttable." + table + ".link"
	clean := path.Clean("/" + at.Path)
	best, target := "", ""
	for rest, value := range v.Conf.WithPrefix(prefix) {
		from, isLink := strings.CutPrefix(rest, ".")
		switch {
		case isLink && strings.HasPrefix(from, "/"):
		case rest == "MergeSlash."+table || rest == "MergeSlash", rest == "Fallback":
			from = "/"
		default:
			continue
		}
		from = path.Clean(from)
		if (clean == from || from == "/" || strings.HasPrefix(clean, from+"/")) && len(from) > len(best) {
			best, target = from, value
		}
	}
	if best == "" {
		return at, fmt.Errorf("%s: no link of the mount table leads there (%s.…)", at, prefix)
	}
	first := conf.ParseList(target)
	if len(first) != 1 {
		return at, fmt.Errorf("%s: the link %s has several targets, which Heddle can't read", at, best)
	}
	to, err := ParseLocation(first[0])
	if err != nil {
		return at, fmt.Errorf("%s: the target of the link %s: %w", at, best, err)
	}
	if to.Scheme == "viewfs" || to.Scheme == "har" { // which might lead back
		return at, fmt.Errorf("%s: the link %s leads to a mount table or an archive", at, best)
	}
	to.UserInfo = "" // of a link counts for nothing
	to.Path = path.Join("/", to.Path, strings.TrimPrefix(clean, best))
	return to, nil
}

// ParseLocation reads a URI such as hdfs://nn:8020/folder.
func ParseLocation(text string) (at localizer.Location, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return at, err
	}
	at = localizer.Location{Scheme: u.Scheme, Host: u.Hostname(), Path: u.Path}
	if u.User != nil {
		at.UserInfo = u.User.Username()
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return at, fmt.Errorf("%q is not a port", p)
		}
		at.Port = int32(n)
	}
	return at, nil
}

// Stat implements localizer.Source.
func (v ViewFS) Stat(ctx context.Context, by localizer.Reader, at localizer.Location) (localizer.Info, error) {
	to, err := v.to(at)
	if err != nil {
		if v.above(at) {
			return localizer.Info{Name: at.Name(), Mode: 0o555 | dir}, nil
		}
		return localizer.Info{}, err
	}
	return v.Below.Stat(ctx, by, to)
}

// above reports whether a location is a folder of the mount table itself, with a link below it. All users may pass through these.
func (v ViewFS) above(at localizer.Location) bool {
	clean := strings.TrimSuffix(path.Clean("/"+at.Path), "/")
	links := v.Conf.WithPrefix("fs.viewfs.mounttable." + cmp.Or(at.Host, "default") + ".link.")
	for from := range links {
		if strings.HasPrefix(path.Clean(from), clean+"/") {
			return true
		}
	}
	return false
}

// Open implements localizer.Source.
func (v ViewFS) Open(ctx context.Context, by localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	to, err := v.to(at)
	if err != nil {
		return nil, err
	}
	return v.Below.Open(ctx, by, to)
}

// List implements localizer.Source.
func (v ViewFS) List(ctx context.Context, by localizer.Reader, at localizer.Location) ([]localizer.Info, error) {
	to, err := v.to(at)
	if err != nil {
		return nil, err
	}
	return v.Below.List(ctx, by, to)
}
