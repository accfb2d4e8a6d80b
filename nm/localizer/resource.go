package localizer

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Type says how a resource is unpacked (YARN: LocalResourceType).
type Type int

// The values are YARN's on the wire.
const (
	Archive Type = 1 // unpacked into a directory if its name is that of a jar, zip or tar file; otherwise like File
	File    Type = 2 // copied
	Pattern Type = 3 // for a jar: kept, with the matching entries unpacked beside it; otherwise like Archive
)

// Visibility says who may share a resource (YARN: LocalResourceVisibility).
type Visibility int

// The values are YARN's on the wire.
const (
	Public      Visibility = 1 // all users
	Private     Visibility = 2 // all applications of one user
	Application Visibility = 3 // all containers of one application
)

func (t Type) String() string {
	switch t {
	case Archive:
		return "ARCHIVE"
	case File:
		return "FILE"
	case Pattern:
		return "PATTERN"
	}
	return "Type(" + strconv.Itoa(int(t)) + ")"
}

func (v Visibility) String() string {
	switch v {
	case Public:
		return "PUBLIC"
	case Private:
		return "PRIVATE"
	case Application:
		return "APPLICATION"
	}
	return "Visibility(" + strconv.Itoa(int(v)) + ")"
}

// Location is where a resource comes from. Unlike in a URL nothing is escaped: Path may contain %, ?, # and blanks.
type Location struct {
	Scheme   string // file, hdfs, …; empty for the default file system
	UserInfo string
	Host     string // empty for the default file system of the scheme
	Port     int32  // ≤ 0: none
	Path     string // absolute
}

// String returns the location as Hadoop's Path prints it, unescaped.
func (l Location) String() string {
	var b strings.Builder
	if l.Scheme != "" {
		b.WriteString(l.Scheme)
		b.WriteByte(':')
	}
	if l.Host != "" {
		b.WriteString("//")
		if l.UserInfo != "" {
			b.WriteString(l.UserInfo)
			b.WriteByte('@')
		}
		b.WriteString(l.Host)
		if l.Port > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(int(l.Port)))
		}
	}
	b.WriteString(l.Path)
	return b.String()
}

// Name returns the last element of the path, which becomes the name of the localized file or directory.
func (l Location) Name() string { return path.Base(l.Path) }

// Parent returns the location of l's directory. ok is false at the root.
func (l Location) Parent() (parent Location, ok bool) {
	parent = l
	parent.Path = path.Dir(path.Clean(l.Path))
	return parent, parent.Path != path.Clean(l.Path)
}

// Child returns the location of the entry name of the directory l.
func (l Location) Child(name string) Location {
	l.Path = path.Join(l.Path, name)
	return l
}

// Resource is one file that a container asks for.
type Resource struct {
	Location   Location
	Type       Type
	Visibility Visibility
	Size       int64  // in bytes, as in the request; only a hint, as in YARN
	Timestamp  int64  // the file's modification time in ms since 1970; it must not have changed
	Pattern    string // for type Pattern: a regular expression that matches whole names of entries
}

// Key identifies a resource within its cache (YARN: LocalResourceRequest.equals).
type Key struct {
	Location  Location
	Type      Type
	Timestamp int64
	Pattern   string
}

// Key returns the resource's key. Equal resources have equal keys.
func (r Resource) Key() Key {
	return Key{Location: r.Location, Type: r.Type, Timestamp: r.Timestamp, Pattern: r.Pattern}
}

func (r Resource) validate() error {
	switch r.Type {
	case Archive, File, Pattern:
	default:
		return fmt.Errorf("resource %s: %v is not a type of resource", r.Location, r.Type)
	}
	switch r.Visibility {
	case Public, Private, Application:
	default:
		return fmt.Errorf("resource %s: %v is not a visibility", r.Location, r.Visibility)
	}
	p := r.Location.Path
	if !strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
		return fmt.Errorf("resource %q: want an absolute path", r.Location.String())
	}
	if err := validName(r.Location.Name()); err != nil {
		return fmt.Errorf("resource %q has no usable name: %w", r.Location.String(), err)
	}
	return nil
}

// estimate returns the space that r will take on disk, or −1 if unknown (ContainerLocalizer.getEstimatedSize).
func (r Resource) estimate() int64 {
	const unpacked = 5 // assumed growth of archives
	switch {
	case r.Size < 0:
		return -1
	case r.Type == File:
		return r.Size
	case r.Size > (1<<62)/unpacked:
		return r.Size
	}
	return unpacked * r.Size
}

// ResourceFrom reads the wire form. As in YARN, the fragment of the URL doesn't count.
func ResourceFrom(m *pb.LocalResource) (Resource, error) {
	u := m.GetResource()
	switch {
	case u == nil:
		return Resource{}, errors.New("local resource without a URL")
	case !m.HasType():
		return Resource{}, fmt.Errorf("local resource %s without a type", u.GetFile())
	case !m.HasVisibility():
		return Resource{}, fmt.Errorf("local resource %s without a visibility", u.GetFile())
	}
	r := Resource{
		Location: Location{
			Scheme:   strings.ToLower(u.GetScheme()),
			UserInfo: u.GetUserInfo(),
			Host:     u.GetHost(),
			Port:     u.GetPort(),
			Path:     u.GetFile(),
		},
		Type:       Type(m.GetType()),
		Visibility: Visibility(m.GetVisibility()),
		Size:       m.GetSize(),
		Timestamp:  m.GetTimestamp(),
		Pattern:    m.GetPattern(),
	}
	if r.Location.Port < 0 {
		r.Location.Port = 0
	}
	return r, r.validate()
}

// scope identifies a cache: that of all users, of one user, or of an application.
type scope struct {
	visibility Visibility
	user       string                // empty in the PUBLIC cache
	app        records.ApplicationID // zero except for an APPLICATION cache
}

func scopeOf(v Visibility, user string, app records.ApplicationID) scope {
	switch v {
	case Public:
		return scope{visibility: Public}
	case Private:
		return scope{visibility: Private, user: user}
	}
	return scope{visibility: Application, user: user, app: app}
}

func (s scope) String() string {
	switch s.visibility {
	case Public:
		return "public cache"
	case Private:
		return "cache of user " + s.user
	}
	return "cache of " + s.app.String()
}

// validName refuses names that can't be one element of a path.
func validName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	return nil
}
