// Package browser tests the web UI in Chromium, against a ResourceManager.
package browser
