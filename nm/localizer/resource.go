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

// Type says what becomes of a resource (YARN: LocalResourceType).
type Type int

// The values are YARN's on the wire.
const (
	Archive Type = 1 // unpacked into a directory, if its name says that it is a jar, zip or tar file; else like File
	File    Type = 2 // copied
	Pattern Type = 3 // a jar: kept, and the entries matching the pattern unpacked beside it; else like Archive
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

// Location is where a resource comes from. Unlike in a URL nothing in it is escaped: Path may contain %, ?, # or blanks.
type Location struct {
	Scheme   string // file, hdfs, …; empty for the default file system
	UserInfo string
	Host     string // empty for the default file system of the scheme
	Port     int32  // ≤ 0 if none
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

// Name is the last element of the path: the name that the localized file or directory gets.
func (l Location) Name() string { return path.Base(l.Path) }

// Parent returns the location of the directory that holds l; ok is false at the root.
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
	Size       int64  // bytes, as the application saw them; a hint, like in YARN
	Timestamp  int64  // the source's modification time in ms since 1970, which must still be the same
	Pattern    string // of Pattern: a regular expression that the whole name of an entry has to match
}

// Key identifies a resource within its cache (YARN: LocalResourceRequest.equals).
type Key struct {
	Location  Location
	Type      Type
	Timestamp int64
	Pattern   string
}

// Key returns what makes r the same as another resource.
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

// estimate is the space that r will take on disk, or −1 if there is no telling (ContainerLocalizer.getEstimatedSize).
func (r Resource) estimate() int64 {
	const unpacked = 5 // archives are taken to grow that much
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

// ResourceFrom reads the wire form. The fragment of the URL plays no part, as in YARN.
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

// scope is one cache: that of everybody, of a user, or of an application.
type scope struct {
	visibility Visibility
	user       string                // empty in the PUBLIC cache
	app        records.ApplicationID // zero but in an APPLICATION cache
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

// validName refuses what can't be one element of a path.
func validName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	return nil
}
