package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// hidden are names of what a stranger must not guess part by part.
var hidden = regexp.MustCompile(`(?i)(password|secret|signature|hmac|passphrase)$|^(mac|Mac|proof|cookie|pw)$`)

// comparedOpenly are the places that compare such things for another reason than to let somebody in.
var comparedOpenly = map[string]string{
	"yarn/token/token.go Password":   "whether the holder of two tokens has the same one twice",
	"yarn/proxyca/proxyca.go secret": "whether the ResourceManager's own secret has changed",
	"nm/shuffle/service.go secret":   "whether what the ResourceManager sends is new",
}

// Whoever proves something by a password, a signature or a MAC is compared with in a time that doesn't tell how much of it is right: by crypto/subtle or hmac.Equal.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	used := map[string]bool{}
	compares := func(file string, n ast.Node, both ...ast.Expr) {
		for _, e := range both {
			if _, literal := e.(*ast.BasicLit); literal || last(e) == "nil" {
				return
			}
		}
		for _, e := range both {
			if name := last(e); hidden.MatchString(name) {
				if used[file+" "+name] = true; comparedOpenly[file+" "+name] == "" {
					t.Errorf("%s: %s is compared byte by byte: use hmac.Equal, or say in comparedOpenly why not", sources.Position(n.Pos()), name)
				}
			}
		}
	}
	for _, p := range packages(t) {
		for file, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op == token.EQL || n.Op == token.NEQ {
						compares(file, n, n.X, n.Y)
					}
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 2 && (last(s.X) == "bytes" || last(s.X) == "slices" || last(s.X) == "strings") &&
						(s.Sel.Name == "Equal" || s.Sel.Name == "Compare" || s.Sel.Name == "EqualFold") {
						compares(file, n, n.Args[0], n.Args[1])
					}
				}
				return true
			})
		}
	}
	for place := range comparedOpenly {
		if !used[place] {
			t.Errorf("%s compares nothing any more", place)
		}
	}
}

// last returns the last name of an expression: of a field or variable, or of what a conversion or a slice is made of.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ParenExpr:
		return last(e.X)
	case *ast.SliceExpr:
		return last(e.X)
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			if name, ok := e.Fun.(*ast.Ident); ok && (name.Name == "string" || name.Name == "len") {
				if name.Name == "string" {
					return last(e.Args[0])
				}
				return ""
			}
		}
		return last(e.Fun)
	}
	return ""
}
