package launch

import (
	"cmp"
	"encoding/base64"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/proxyca"
)

// Words in commands and environment values of a launch context that the NodeManager replaces (Hadoop:
// ApplicationConstants).
const (
	logDirWord    = "<LOG_DIR>"
	separatorWord = "<CPS>"
	addOpensWord  = "<ADD_OPENS>"
)

// addOpens opens those parts of the JDK that Hadoop's clients use, which Java 17 and later need.
const addOpens = "--add-opens=java.base/java.lang=ALL-UNNAMED --add-exports=java.base/sun.net.dns=ALL-UNNAMED --add-exports=java.base/sun.net.util=ALL-UNNAMED"

// Expander replaces the variable parts of launch contexts.
type Expander struct {
	LogDir   string
	AddOpens bool // the container's Java is 17 or newer
}

// Expand replaces <LOG_DIR>, <CPS> and <ADD_OPENS>, and turns {{X}} into $X for the shell to expand.
func (e Expander) Expand(s string) string {
	opens := ""
	if e.AddOpens {
		opens = addOpens
	}
	return strings.NewReplacer(
		logDirWord, e.LogDir, separatorWord, ":", addOpensWord, opens, "{{", "$", "}}", "",
	).Replace(s)
}

// Environment has the sources of a container's environment.
type Environment struct {
	App map[string]string // from the launch context, expanded

	// Facts that the application can't override.
	TokensFile          string
	Stores              []proxyca.Store // keystores in WorkDir
	ContainerID         string
	Host                string
	Port, HTTPPort      int
	LocalDirs           []string // the application's folder on every disk
	UserDirs            []string // the user's folder on every disk
	LogDirs             []string // the container's log folder on every disk
	User                string
	Home                string
	WorkDir             string
	LocalizationCounter string            // bytes and files that localization downloaded and found cached
	AuxServices         map[string][]byte // metadata of auxiliary services
	Devices             map[string]string // variables that name the container's devices

	Whitelist []string // variables to take from Own if the application doesn't set them
	Admin     string   // yarn.nodemanager.admin-env
	ForcePath string   // yarn.nodemanager.force.path: precedes PATH
	Own       func(name string) (string, bool)
}

// Vars returns the variables for a script, in Hadoop's order: first the NodeManager's facts, then the application's
// variables by name, except that a variable follows those to which it refers.
func (e Environment) Vars() (inherit, env []Var) {
	facts := []Var{
		{"HADOOP_TOKEN_FILE_LOCATION", e.TokensFile},
		{"CONTAINER_ID", e.ContainerID},
		{"NM_PORT", strconv.Itoa(e.Port)},
		{"NM_HOST", e.Host},
		{"NM_HTTP_PORT", strconv.Itoa(e.HTTPPort)},
		{"LOCAL_DIRS", strings.Join(e.LocalDirs, ",")},
		{"LOCAL_USER_DIRS", strings.Join(e.UserDirs, ",")},
		{"LOG_DIRS", strings.Join(e.LogDirs, ",")},
		{"USER", e.User},
		{"LOGNAME", e.User},
		{"HOME", e.Home},
		{"PWD", e.WorkDir},
		{"LOCALIZATION_COUNTERS", e.LocalizationCounter},
		{"JVM_PID", "$$"},
	}
	for _, name := range slices.Sorted(maps.Keys(e.AuxServices)) {
		facts = append(facts, Var{"NM_AUX_SERVICE_" + name, base64.StdEncoding.EncodeToString(e.AuxServices[name])})
	}
	for _, s := range e.Stores {
		facts = append(facts, Var{s.Location, path.Join(e.WorkDir, s.File)}, Var{s.PasswordVariable, s.Password})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Devices)) {
		facts = append(facts, Var{name, e.Devices[name]})
	}
	fixed := make(map[string]bool)
	for _, v := range facts {
		fixed[v.Name] = true
	}

	app := make(map[string]string)
	for name, value := range e.App {
		if !fixed[name] {
			app[name] = value
		}
	}
	for _, name := range e.Whitelist {
		name = strings.TrimSpace(name)
		if _, set := app[name]; set || fixed[name] || name == "" {
			continue
		}
		if value, ok := e.Own(name); ok {
			inherit = append(inherit, Var{name, value})
		}
	}
	e.addAdmin(app, fixed)
	if e.ForcePath != "" {
		old, ok := app["PATH"]
		if !ok {
			old = "$PATH"
		}
		app["PATH"] = e.ForcePath + ":" + old
	}
	return inherit, append(facts, ordered(app)...)
}

// addAdmin merges yarn.nodemanager.admin-env, a comma-separated list of NAME=VALUE. The value of the container, or else
// of the NodeManager, replaces $X. If the application has set the same variable to another value, both are joined like
// a path (Hadoop: Apps.setEnvFromInputString).
func (e Environment) addAdmin(app map[string]string, fixed map[string]bool) {
	for _, item := range strings.Split(e.Admin, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || name == "" || fixed[name] {
			continue
		}
		value = reference.ReplaceAllStringFunc(value, func(ref string) string {
			referred := strings.Trim(ref, "${}")
			if v, ok := app[referred]; ok {
				return v
			}
			v, _ := e.Own(referred)
			return v
		})
		if old, ok := app[name]; ok && old != value {
			value = old + ":" + value
		}
		app[name] = value
	}
}

// reference is a use of a variable in a value.
var reference = regexp.MustCompile(`\$\{?[A-Za-z_][A-Za-z0-9_]*\}?`)

// maxReferences bounds a chain of variables in which each refers to the next. A chain takes stack, and a user can make
// one of millions. Beyond the limit the order is by name.
const maxReferences = 1000

// ordered sorts variables by name, except that a variable follows those to which its value refers. It breaks circles
// where it enters them.
func ordered(vars map[string]string) []Var {
	var out []Var
	state := make(map[string]bool) // present: visit has begun
	var visit func(name string, depth int)
	visit = func(name string, depth int) {
		if state[name] || depth > maxReferences {
			return
		}
		state[name] = true
		refs := reference.FindAllString(vars[name], -1)
		slices.SortFunc(refs, func(a, b string) int { return cmp.Compare(a, b) })
		for _, ref := range refs {
			ref = strings.Trim(ref, "${}")
			if _, ok := vars[ref]; ok {
				visit(ref, depth+1)
			}
		}
		out = append(out, Var{name, vars[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		visit(name, 0)
	}
	return out
}
