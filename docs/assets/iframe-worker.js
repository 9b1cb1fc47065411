// Browsers start no workers on pages that were opened from a disk (file://). There, the search runs in a hidden frame:
// this class is a Worker as far as the theme uses one. On a web server it changes nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = "<!doctype html>"   // a document of its own, which is there when `onload` says so
      this.ready = new Promise(resolve => {
        this.frame.onload = () => {
          const script = this.frame.contentDocument.createElement("script")
          this.frame.contentWindow.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
          script.src = new URL(url, location.href)
          script.onload = resolve
          this.frame.contentDocument.body.append(script)
        }
      })
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() { this.frame.remove() }
  }
}
