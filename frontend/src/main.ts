import './first.ts'

import { mount } from 'svelte'

import './api/outside.ts'
import { inWindow } from './api/client.ts'
import App from './App.svelte'
import { machine } from './topics.ts'
import './style/tokens.css'
import './style/page.css'
import './style/sidebar.css'
import './style/tables.css'
import './style/controls.css'
import './style/text.css'
import './style/ribbon.css'
import './style/now.css'
import './style/runs.css'
import './style/playground.css'
import './style/checkpoints.css'
import './style/models.css'
import './style/connect.css'
import './style/settings.css'
import './style/palette.css'
import './style/window.css'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
if (inWindow && machine === 'Mac') document.documentElement.classList.add('mac-window')
target.replaceChildren() // removes the text for a page whose script does not run
mount(App, { target })
