package jvmarchive

import (
	"path"
	"regexp"
	"strings"
	"unicode"
)

// command is a container's command line that starts a Java program.
type command struct {
	java    string   // the word as it is written: $JAVA_HOME/bin/java
	after   int      // where options of ours are put: right behind that word
	main    string   // the program's class
	options []string // the JVM's
}

var className = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*$`)

// assignment is a variable that is set for one command only.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parseCommand understands lines such as
//
//	LD_LIBRARY_PATH="…" $JAVA_HOME/bin/java -Xmx384m org.example.Main argument 1>/log/stdout
//
// whose class path comes from the environment. ok is false for anything else, and where options speak of archives or
// change which classes there are.
func parseCommand(line string) (c command, ok bool) {
	words := split(line)
	for len(words) > 0 && (assignment.MatchString(words[0].text) || words[0].text == "exec") {
		if strings.HasPrefix(words[0].text, "CLASSPATH=") {
			return c, false
		}
		words = words[1:]
	}
	if len(words) == 0 || path.Base(words[0].text) != "java" {
		return c, false
	}
	c.java, c.after = words[0].text, words[0].end
	for words = words[1:]; len(words) > 0; words = words[1:] {
		w := words[0].text
		switch {
		case className.MatchString(w):
			c.main = w
			return c, true
		case !strings.HasPrefix(w, "-") || !archivable(w):
			return c, false
		}
		c.options = append(c.options, w)
		if takesWord(w) && len(words) > 1 {
			words = words[1:]
			c.options = append(c.options, words[0].text)
		}
	}
	return c, false
}

// takesWord reports whether an option of the launcher has its value in the next word.
func takesWord(option string) bool {
	switch option {
	case "--add-opens", "--add-exports", "--add-reads", "--add-modules":
		return true
	}
	return false
}

// hindrances are beginnings of options that make the store leave a command alone: they name a class path or modules,
// have a say in archives, or change classes as they are loaded.
var hindrances = []string{
	"-cp", "-classpath", "--class-path", "-jar", "-m", "--module", "-p", "--module-path", "--patch-module",
	"--limit-modules", "--upgrade-module-path", "-Xbootclasspath", "-javaagent", "-agentlib", "-agentpath", "-Xrun",
	"-Xdebug",
	"-Djava.system.class.loader", "-Djava.class.path", "-Djdk.module", "-Xshare", "-XX:SharedArchiveFile",
	"-XX:ArchiveClassesAtExit",
	"-XX:SharedClassListFile", "-XX:DumpLoadedClassList", "-XX:+AutoCreateSharedArchive", "-XX:AOT", "-XX:Flags=",
	"-XX:VMOptionsFile",
	"-Xlog", "-verbose", "-version", "--version", "-XX:+DumpSharedSpaces", "-XX:+RecordDynamicDumpInfo",
}

func archivable(option string) bool {
	for _, h := range hindrances {
		if strings.HasPrefix(option, h) {
			return false
		}
	}
	return true
}

// word is a word of a command line, without its quotes.
type word struct {
	text string
	end  int // index of the byte behind it
}

// split takes a line apart at blanks, as a shell does, without expanding anything. It stops at what begins another
// command or a subshell: nothing behind it is of interest here.
func split(line string) []word {
	var out []word
	var b strings.Builder
	var quote rune
	inside, escaped := false, false
	flush := func(end int) {
		if inside {
			out = append(out, word{b.String(), end})
		}
		b.Reset()
		inside = false
	}
	for i, r := range line {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inside, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '\'' || r == '"':
			inside, quote = true, r
		case unicode.IsSpace(r):
			flush(i)
		case strings.ContainsRune(";&|()`", r):
			flush(i)
			return append(out, word{string(r), i})
		default:
			inside = true
			b.WriteRune(r)
		}
	}
	flush(len(line))
	return out
}

// layoutOptions are those options that decide how objects and classes lie in memory, for which an archive must have been made.
var layoutOptions = regexp.MustCompile(`^-XX:([+-]UseCompressed(Oops|ClassPointers)|[+-]UseCompactObjectHeaders|[+-]UnlockExperimentalVMOptions|ObjectAlignmentInBytes=\d+)$`)

// layout returns the options that an archive must be made with.
func layout(options []string) []string {
	var out []string
	large := false
	for _, o := range options {
		switch {
		case layoutOptions.MatchString(o):
			out = append(out, o)
		case o == "-XX:+UseZGC":
			large = true // it doesn't compress pointers either
		case strings.HasPrefix(o, "-Xmx"):
			large = large || tooLargeForOops(strings.TrimPrefix(o, "-Xmx"))
		}
	}
	if large {
		out = append(out, "-XX:-UseCompressedOops")
	}
	return out
}

// tooLargeForOops reports whether a heap is so large that the JVM doesn't compress pointers: about 32 GB.
func tooLargeForOops(size string) bool {
	n := int64(0)
	for i, r := range strings.ToLower(size) {
		switch {
		case r >= '0' && r <= '9' && n < 1<<40:
			n = n*10 + int64(r-'0')
		case i > 0 && r == 'k':
			return n >= 32<<20
		case i > 0 && r == 'm':
			return n >= 32<<10
		case i > 0 && r == 'g':
			return n >= 32
		case i > 0 && r == 't':
			return true
		default:
			return false
		}
	}
	return n >= 32<<30
}
