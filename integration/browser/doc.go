// Package browser looks at web pages in Chromium. Its tests look at the web UI, against a ResourceManager.
package browser
