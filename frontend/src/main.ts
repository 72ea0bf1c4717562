import './first.ts'

import { mount } from 'svelte'

import './api/outside.ts'
import App from './App.svelte'
import './style/page.css'
import './style/tables.css'
import './style/controls.css'
import './style/text.css'
import './style/runs.css'
import './style/playground.css'
import './style/settings.css'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
target.replaceChildren() // what stands there for a page that does not come so far
mount(App, { target })
